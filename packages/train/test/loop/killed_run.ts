// A training run as a separate process, for kill.test.ts: node killed_run.mjs <directory> <steps>.
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { CudnnGRU } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import {
  Adam,
  cosineRate,
  Dataset,
  fit,
  MetricsFile,
  meanSquaredError,
  type Trainable,
  type TrainingRecord,
  type TrainingSaver,
} from '../../src/index.js'

const [directory = '', steps = ''] = process.argv.slice(2)
const [T, B] = [6, 4]

const backend = openReferenceBackend()
const gru = new CudnnGRU(backend, { numLayers: 2, numUnits: 5, inputSize: 1, dropout: 0.3, seed: 7 })
const params = gru.createParams({ seed: 1 })
const state = { name: 'state', backend, value: backend.zeros([2, B, 5]) }

interface Checkpoint {
  readonly elements: Float32Array[]
  readonly record: TrainingRecord
}

const saver: TrainingSaver = {
  async save(kind, tensors, record) {
    const elements = await Promise.all(tensors.map(async ({ value }) => (await value.read()).data))
    const path = join(directory, `${kind}.checkpoint`)
    await writeFile(`${path}.tmp`, serialize({ elements, record }))
    await rename(`${path}.tmp`, path)
  },
  async restore(tensors: readonly Trainable[]) {
    const file = await readFile(join(directory, 'latest.checkpoint')).catch(() => undefined)
    if (file === undefined) return undefined
    const { elements, record } = deserialize(file) as Checkpoint
    for (const [index, { value }] of tensors.entries()) {
      backend.ops.assign(value, { data: elements[index], shape: value.shape })
    }
    return record
  },
}

const wave = (phases: readonly number[], shift: number, columns: number) => ({
  data: Float32Array.from({ length: T * B * columns }, (_, k) =>
    Math.sin(phases[Math.floor(k / columns) % B] + (Math.floor(k / columns / B) + shift) / 2),
  ),
  shape: [T, B, columns],
})

let metrics: MetricsFile
let lastLoss = 0
await fit({
  data: Dataset.fromArray(Array.from({ length: 30 }, (_, k) => k))
    .shuffle({ bufferSize: 11, seed: 3 })
    .map((k) => k / 5, { concurrency: 3 })
    .repeat()
    .batch(B)
    .prefetch(3),
  async batchGradients(phases) {
    const { output, outputH, tape } = await gru.call(wave(phases, 0, 1), state.value, params)
    const { data, shape } = await output.read()
    const { loss, gradients } = meanSquaredError({ data: data as Float32Array, shape }, wave(phases, 1, 5))
    const { params: gradient } = await gru.gradients(tape, { output: gradients.predictions })
    backend.ops.assign(state.value, outputH)
    lastLoss = loss
    return { loss, gradients: [gradient] }
  },
  optimizer: new Adam([params], { weightDecay: 0.01 }),
  learningRate: cosineRate({ peak: 0.02, steps: Number(steps), warmup: 5 }),
  maxSteps: Number(steps),
  accumulate: 2,
  clipNorm: 1,
  saver,
  evaluate: async () => ({ loss: lastLoss }),
  evaluateEvery: 3,
  earlyStopping: { metric: 'loss' },
  state: {
    tensors: [state],
    save: async () => Buffer.from(await gru.dropoutState()).toString('base64'),
    restore: (saved) => gru.restoreDropoutState(Uint8Array.from(Buffer.from(saved as string, 'base64'))),
  },
  async onStart(step) {
    metrics = await MetricsFile.open(join(directory, 'metrics.jsonl'), step)
  },
  async onStep(report) {
    await metrics.write({ ...report, seconds: 0 })
    process.stdout.write(`${report.step}\n`)
  },
})
