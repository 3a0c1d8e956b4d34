// Peak memory of a save, beyond the memory of the saved values (docs/reliability.md).
//   node scripts/bench/measure_save_memory.mjs [--of tensors|network] [--executor cpu|wasm|reference] [--mib N] [--each N] [--directory D]
// `tensors` are generated one by one, so that the model takes no memory. `network` is one LSTM of layers of 2048 units, whose
// opaque buffer is all of it and is in memory. Build first: npm run build.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { CudnnLSTM, openBackend, RNNParamsSaveable, Saver } from '../../packages/rnn/dist/index.js'
import { TensorSaveable } from '../../packages/saveable/dist/index.js'

const MIB = 2 ** 20
const UNITS = 2048

const { values: options } = parseArgs({
  options: {
    of: { type: 'string', default: 'network' },
    executor: { type: 'string', default: 'cpu' },
    mib: { type: 'string', default: '2048' },
    each: { type: 'string', default: '16' },
    directory: { type: 'string', default: tmpdir() },
  },
})
const mib = Number(options.mib)

function tensors() {
  const elements = (Number(options.each) * MIB) / 4
  const saveables = Array.from(
    { length: mib / Number(options.each) },
    (_, n) =>
      new TensorSaveable(
        `layer_${n}/kernel`,
        () => ({ data: new Float32Array(elements).fill(n), shape: [elements] }),
        () => undefined,
      ),
  )
  return { saveables, bytes: mib * MIB, what: `tensors of ${options.each} MiB` }
}

async function network() {
  const backend = await openBackend(options.executor)
  const numLayers = Math.max(1, Math.round((mib * MIB) / (4 * 8 * UNITS * UNITS)))
  const lstm = new CudnnLSTM(backend, { numLayers, numUnits: UNITS, inputSize: UNITS })
  const params = lstm.createSlot('params')
  // Touches every page.
  const { data } = await params.value.read()
  data.fill(0.5)
  const saveables = [new RNNParamsSaveable(lstm.paramsToCanonical, lstm.canonicalToParams, [params])]
  return { saveables, bytes: data.byteLength, what: `an LSTM of ${numLayers} layers on ${backend.reason}` }
}

const directory = await mkdtemp(join(options.directory, 'save-memory-'))
try {
  const { saveables, bytes, what } = await { tensors, network }[options.of]()
  const peak = () => process.resourceUsage().maxRSS / 1024
  const before = peak()
  const began = performance.now()
  await new Saver(saveables).save(join(directory, 'model'))
  const seconds = (performance.now() - began) / 1000
  console.log(
    `${Math.round(bytes / MIB)} MiB, ${what}: ${seconds.toFixed(1)} s, peak ${Math.round(peak())} MiB, ${Math.round(peak() - before)} MiB more than before the save`,
  )
} finally {
  await rm(directory, { recursive: true, force: true })
}
