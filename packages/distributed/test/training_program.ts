// One rank of a training for mpi.test.ts: node training_program.mjs <auto | none> [fail]. The first rank prints the losses and
// the kernel as JSON.
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { Adam, constantRate, Dataset, fit } from '@cudnn-rnn/train'
import { openCommunicator } from '../src/index.js'

const [engine = 'auto', failing] = process.argv.slice(2)
const [ROWS, BATCH] = [23, 5]

await using world = await openCommunicator(engine as 'auto' | 'none', { timeoutSeconds: 60 })
using backend = openReferenceBackend()
const kernel = { name: 'kernel', value: backend.zeros([2, 1]) }
const bias = { data: new Float32Array(1), shape: [1] }
const losses: number[] = []
let batches = 0

const numbers = Array.from({ length: ROWS }, (_, k) => k)
await fit({
  backend,
  data: Dataset.fromArray(numbers).shuffle({ bufferSize: ROWS, seed: 4 }).repeat(5).batch(BATCH).shard(world),
  async batchGradients(batch) {
    if (failing !== undefined && world.rank === 1 && ++batches === 3) throw new Error('no memory')
    const rows = batch.length
    const x = { data: Float32Array.from(batch.flatMap((k) => [Math.sin(k), Math.cos(3 * k)])), shape: [rows, 2] }
    using y = backend.ops.linear(x, kernel.value, bias)
    const errors = Float32Array.from((await y.read()).data, (value, row) => value - 2 * x.data[2 * row]!)
    const outputGradient = { data: errors.map((error) => (2 * error) / rows), shape: [rows, 1] }
    const gradients = backend.ops.linearGradients(x, kernel.value, outputGradient)
    gradients.input.dispose()
    gradients.bias.dispose()
    return { loss: errors.reduce((sum, error) => sum + error * error, 0) / rows, gradients: [gradients.kernel] }
  },
  optimizer: new Adam(backend, [kernel]),
  learningRate: constantRate(0.1),
  maxSteps: 1000,
  clipNorm: 0.5,
  communicator: world,
  onStep: ({ loss }) => void losses.push(loss),
})
// Without a communicator every process is the first of its own, and only one of them prints.
const isPrinter =
  world.size > 1 ? world.rank === 0 : (process.env['OMPI_COMM_WORLD_RANK'] ?? process.env['PMI_RANK']) === '0'
if (isPrinter) process.stdout.write(JSON.stringify({ losses, kernel: [...(await kernel.value.read()).data] }))
