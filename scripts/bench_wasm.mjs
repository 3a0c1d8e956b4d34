// Compares inference on the wasm executor with onnxruntime-web, and with the native kernels of AVX2, one thread each:
//   node scripts/bench_wasm.mjs [--rounds N] [--write]
// LSTM and GRU, one layer, inputs as wide as the state. All three take input and initial states and give output and final
// states. Rounds alternate, so that all meet the same load; the figures are medians. `--write` puts the table into
// docs/bench/wasm.md. Build first: npm run build. onnxruntime-web takes part after
// `npm ci --prefix apps/bench/peers --ignore-scripts`.
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import { exportWeights } from '../packages/interop/dist/index.js'
import { CudnnGRU, CudnnLSTM, openBackend } from '../packages/rnn/dist/index.js'

const CASES = [CudnnLSTM, CudnnGRU].flatMap((Cell) =>
  [128, 512].flatMap((H) => [1, 16].flatMap((B) => [1, 70].map((T) => ({ Cell, H, B, T })))),
)
/** A round repeats a pass for this long. */
const ROUND_MS = 20

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, write: { type: 'boolean', default: false } },
})
const rounds = Number(options.rounds)
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1]
const wave = (...shape) => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, k) => Math.sin(1.3 * k)),
  shape,
})

const peers = createRequire(new URL('../apps/bench/peers/package.json', import.meta.url))
const ort = peers('onnxruntime-web')
ort.env.wasm.numThreads = 1
const backends = {
  wasm: await openBackend('wasm'),
  avx2: await openBackend('cpu', { threads: 1, instructionSet: 'avx2' }),
}

/** A pass of one of our executors, which gives the output. */
function ourPass(backend, { Cell, H }, operands, canonicalParams) {
  const model = new Cell(backend, { numLayers: 1, numUnits: H, inputSize: H, inputMode: 'linear_input' })
  const rnn = backend.rnn(model.descriptor)
  const params = model.canonicalToParams(canonicalParams.weights, canonicalParams.biases)
  return async () => {
    const results = await rnn.forward({
      input: operands.x,
      inputH: operands.h,
      inputC: Cell === CudnnLSTM ? operands.h : null,
      params: await params,
      sequenceLengths: null,
      training: false,
    })
    const { data } = await results.output.read()
    for (const tensor of [results.output, results.outputH, results.outputC]) tensor?.dispose()
    return data
  }
}

async function onnxPass({ Cell }, { x, h }, network) {
  const model = await exportWeights([network], { format: 'onnx' })
  const session = await ort.InferenceSession.create(model, { executionProviders: ['wasm'] })
  const tensor = ({ data, shape }) => new ort.Tensor('float32', data, shape)
  const feeds = { input: tensor(x), initial_h: tensor(h), ...(Cell === CudnnLSTM && { initial_c: tensor(h) }) }
  return async () => (await session.run(feeds)).output.data
}

async function millisecondsOf(pass) {
  const began = performance.now()
  let count = 0
  do {
    await pass()
    count++
  } while (performance.now() - began < ROUND_MS)
  return (performance.now() - began) / count
}

async function measured(of) {
  const { Cell, H, B, T } = of
  const operands = { x: wave(T, B, H), h: wave(1, B, H) }
  const model = new Cell(backends.wasm, { numLayers: 1, numUnits: H, inputSize: H, inputMode: 'linear_input' })
  const canonical = await model.paramsToCanonical(model.createParams({ seed: 1 }))
  const network = { name: 'rnn', descriptor: model.descriptor, canonical }
  const passes = {
    wasm: ourPass(backends.wasm, of, operands, canonical),
    onnx: await onnxPass(of, operands, network),
    avx2: ourPass(backends.avx2, of, operands, canonical),
  }
  const ours = Float32Array.from(await passes.wasm())
  for (const pass of [passes.onnx, passes.avx2]) {
    const theirs = await pass()
    const difference = ours.reduce((most, value, k) => Math.max(most, Math.abs(value - theirs[k])), 0)
    if (!(difference < 1e-4)) throw new Error(`Cannot compare other networks: outputs differ by ${difference}`)
  }
  const times = { wasm: [], onnx: [], avx2: [] }
  for (let round = -1; round < rounds; round++) {
    for (const [name, pass] of Object.entries(passes)) {
      const milliseconds = await millisecondsOf(pass)
      // The first round warms up.
      if (round >= 0) times[name].push(milliseconds)
    }
  }
  const [wasm, onnx, avx2] = [median(times.wasm), median(times.onnx), median(times.avx2)]
  return { name: `${Cell === CudnnLSTM ? 'LSTM' : 'GRU'} ${B} × ${T} × ${H}`, wasm, onnx, avx2 }
}

const results = []
for (const of of CASES) results.push(await measured(of))
const ms = (value) => value.toPrecision(3)
const ratio = (value) => value.toFixed(2)
const rows = results.map(
  ({ name, wasm, onnx, avx2 }) =>
    `| ${[name, ms(wasm), ms(onnx), ratio(wasm / onnx), ms(avx2), ratio(wasm / avx2)].join(' | ')} |`,
)
const summary = (over) => {
  const ratios = results.map((result) => result.wasm / result[over])
  const mean = Math.exp(ratios.reduce((sum, value) => sum + Math.log(value), 0) / ratios.length)
  return `${ratio(Math.min(...ratios))} to ${ratio(Math.max(...ratios))}, geometric mean ${ratio(mean)}`
}
const table = [
  `Node.js ${process.version}; ${backends.wasm.reason}; onnxruntime-web ${ort.env.versions.web}, one thread; ${backends.avx2.reason}. Medians of ${rounds} rounds, milliseconds.`,
  '',
  '| cell, B × T × H | wasm | onnxruntime-web | ratio | AVX2 | ratio |',
  '|---|---|---|---|---|---|',
  ...rows,
  '',
  `Time over onnxruntime-web: ${summary('onnx')}. Time over AVX2: ${summary('avx2')}.`,
].join('\n')
console.log(table)
if (options.write) {
  const page = new URL('../docs/bench/wasm.md', import.meta.url)
  const text = readFileSync(page, 'utf8')
  writeFileSync(page, `${text.slice(0, text.indexOf('<!-- table -->'))}<!-- table -->\n\n${table}\n`)
}
for (const backend of Object.values(backends)) backend.dispose()
