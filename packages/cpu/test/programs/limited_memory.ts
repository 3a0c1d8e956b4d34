// A training pass whose tape is larger than the memory that this process may have. Run by ../limited_memory.test.ts.
import { readFileSync } from 'node:fs'
import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { openCpuBackend } from '../../src/index.js'

const STEPS = Number(process.argv[2])
const BATCH = 16

const code = (error: unknown) => (error as { code?: string }).code ?? String(error)
const kibibytes = (field: string) =>
  Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync('/proc/self/status', 'utf8'))![1])

using backend = openCpuBackend({ threads: 1 })
using rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 64, inputSize: 1 }))
using params = backend.zeros([rnn.paramsSize], { layout: layoutOf() })

function layoutOf(): string {
  const { descriptor } = rnn
  const H = descriptor.numUnits
  const zeros = (rows: number, columns: number) => ({ data: new Float32Array(rows * columns), shape: [rows, columns] })
  const weights = [...[1, 1, 1, 1].map(() => zeros(H, 1)), ...[1, 1, 1, 1].map(() => zeros(H, H))]
  const biases = Array.from({ length: 8 }, () => ({ data: new Float32Array(H), shape: [H] }))
  using made = rnn.canonicalToParams({ weights, biases })
  return made.layout!
}

/** Forward and backward; the code of the first failure. */
async function pass(steps: number): Promise<string> {
  const input = { data: new Float32Array(steps * BATCH), shape: [steps, BATCH, 1] }
  const given = { input, inputH: null, inputC: null, params, sequenceLengths: null, training: true }
  const { output, outputH, outputC, tape } = await rnn.forward(given)
  const failed = await output.read().then(() => undefined, code)
  const gradients = await rnn.backward(tape!, { output })
  const backward = await gradients.params.read().then(() => undefined, code)
  for (const tensor of [
    output,
    outputH,
    outputC,
    gradients.input,
    gradients.inputH,
    gradients.inputC,
    gradients.params,
  ])
    tensor?.dispose()
  tape!.dispose()
  return [failed, backward].map((each) => each ?? 'done').join(', ')
}

const small = await pass(8)
const [before, stats] = [kibibytes('VmRSS'), backend.stats()]
const size = kibibytes('VmSize')
const large = STEPS > 0 ? await pass(STEPS).catch(code) : undefined
const growth = kibibytes('VmRSS') - before
const again = await pass(8)
console.log(JSON.stringify({ small, large, again, size, growth, before: stats, after: backend.stats() }))
