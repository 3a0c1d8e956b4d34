// One rank of a training for mpi.test.ts: node training_program.mjs '{"engine":"auto"}'. The first rank prints the losses and the
// kernel as JSON.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { Adam, constantRate, Dataset, fit, type TrainingRecord, type TrainingSaver } from '@cudnn-rnn/train'
import { openCommunicator } from '../src/index.js'
import { type Fault, makeFault } from './training_fault.js'

interface Settings {
  readonly engine: 'auto' | 'nccl' | 'none'
  /** Default the reference; 'cudnn' on the GPU of the rank. */
  readonly backend?: 'cudnn'
  readonly wire?: 'bfloat16'
  /** Passes over the data; default 5. */
  readonly epochs?: number
  /** Rank 1 throws in its third batch. */
  readonly fails?: boolean
  /** File of the checkpoint. */
  readonly checkpoint?: string
  /** A rank is killed some milliseconds after it has computed so many batches. */
  readonly kill?: { readonly rank: number; readonly batches: number; readonly milliseconds: number }
  /** Every rank ends by SIGTERM or SIGINT, saved. After this step the first rank prints a line and waits for the signal. */
  readonly stopsAt?: number
  /** See training_fault.ts. */
  readonly fault?: Fault
  /** Limits of the communicator; defaults 60, 8 and 60 s. */
  readonly timeoutSeconds?: number
  readonly silenceSeconds?: number
  readonly busySeconds?: number
}

const {
  engine,
  backend: name,
  wire,
  epochs = 5,
  fails,
  checkpoint,
  kill,
  stopsAt,
  fault,
  timeoutSeconds = 60,
  silenceSeconds,
  busySeconds,
} = JSON.parse(process.argv[2] ?? '{}') as Settings
const [ROWS, BATCH] = [23, 5]

await using world = await openCommunicator(engine, { timeoutSeconds, silenceSeconds, busySeconds })
using backend =
  name === 'cudnn' ? await openCudnnBackend({ device: world.localRank, graphs: true }) : openReferenceBackend()
const stop = new AbortController()
if (stopsAt !== undefined) for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => stop.abort())
const kernel = { name: 'kernel', backend, value: backend.zeros([2, 1]) }
const bias = { data: new Float32Array(1), shape: [1] }
const losses: number[] = []
let batches = 0

/** One file, replaced as a whole. */
const saver: TrainingSaver = {
  async save(kind, tensors, record) {
    if (kind !== 'latest') return
    const elements = await Promise.all(tensors.map(async ({ value }) => [...(await value.read()).data]))
    writeFileSync(`${checkpoint}.new`, JSON.stringify({ elements, record }))
    renameSync(`${checkpoint}.new`, checkpoint!)
  },
  async restore(tensors) {
    if (!existsSync(checkpoint!)) return undefined
    const saved = JSON.parse(readFileSync(checkpoint!, 'utf8')) as { elements: number[][]; record: TrainingRecord }
    for (const [index, { value }] of tensors.entries()) {
      backend.ops.assign(value, { data: Float32Array.from(saved.elements[index]!), shape: value.shape })
    }
    return saved.record
  },
}

const numbers = Array.from({ length: ROWS }, (_, k) => k)
await fit({
  data: Dataset.fromArray(numbers).shuffle({ bufferSize: ROWS, seed: 4 }).repeat(epochs).batch(BATCH).shard(world),
  async batchGradients(batch) {
    batches++
    if (fails && world.rank === 1 && batches === 3) throw new Error('no memory')
    if (fault?.rank === world.rank && fault.batches === batches) await makeFault(fault)
    if (kill?.rank === world.rank && kill.batches === batches) {
      // From outside, so that it can occur anywhere: in a kernel, in a collective call, in a save.
      spawn('sh', ['-c', `sleep ${kill.milliseconds / 1000}; kill -KILL ${process.pid}`])
    }
    const rows = batch.length
    const x = { data: Float32Array.from(batch.flatMap((k) => [Math.sin(k), Math.cos(3 * k)])), shape: [rows, 2] }
    using y = backend.ops.linear(x, kernel.value, bias)
    const targets = { data: x.data.filter((_, k) => k % 2 === 0).map((value) => 2 * value), shape: [rows, 1] }
    // Nothing is read here: an executor that queues whole steps sums the gradients between its passes and the update.
    const { loss, gradient } = backend.ops.elementLoss(y, targets, 'squared_error')
    const gradients = backend.ops.linearGradients(x, kernel.value, gradient)
    for (const tensor of [gradient, gradients.input, gradients.bias]) tensor.dispose()
    return { loss, gradients: [gradients.kernel] }
  },
  optimizer: new Adam([kernel]),
  learningRate: constantRate(0.1),
  maxSteps: 100_000,
  clipNorm: 0.5,
  communicator: world,
  wire,
  saver: checkpoint === undefined ? undefined : saver,
  saveEvery: 10,
  async onStep({ step, loss }) {
    losses.push(loss)
    if (step !== stopsAt) return
    process.stdout.write('waits\n')
    while (!stop.signal.aborted) await new Promise((resolve) => setTimeout(resolve, 5))
  },
  signal: stop.signal,
})
const isOnDevice = world.tensorSum?.(backend) !== undefined
if (world.rank === 0) {
  process.stdout.write(JSON.stringify({ losses, kernel: [...(await kernel.value.read()).data], isOnDevice }))
}
