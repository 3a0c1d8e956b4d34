import type { Backend } from '@cudnn-rnn/ops'
import {
  Adam,
  cosineRate,
  Dataset,
  type FitOptions,
  type Position,
  type Trainable,
  type TrainingRecord,
  type TrainingSaver,
} from '../../src/index.js'

/** Keeps checkpoints as a file would: copies of the elements, and the record as JSON text. */
export class MemorySaver implements TrainingSaver {
  readonly saved = new Map<string, { elements: Float32Array[]; record: string }>()
  readonly kinds: string[] = []
  readonly #backend: Backend

  constructor(backend: Backend, from?: MemorySaver) {
    this.#backend = backend
    for (const [kind, checkpoint] of from?.saved ?? []) this.saved.set(kind, checkpoint)
  }

  async save(kind: 'latest' | 'best', tensors: readonly Trainable[], record: TrainingRecord): Promise<void> {
    const elements = await Promise.all(
      tensors.map(async ({ value }) => (await value.read()).data.slice() as Float32Array),
    )
    this.kinds.push(kind)
    this.saved.set(kind, { elements, record: JSON.stringify(record) })
  }

  async restore(
    tensors: readonly Trainable[],
    kind: 'latest' | 'best' = 'latest',
  ): Promise<TrainingRecord | undefined> {
    const saved = this.saved.get(kind)
    if (saved === undefined) return undefined
    for (const [index, { value }] of tensors.entries()) {
      this.#backend.ops.assign(value, { data: saved.elements[index], shape: value.shape })
    }
    return JSON.parse(saved.record) as TrainingRecord
  }
}

/** y = 2·x₀ - x₁ by least squares, on shuffled, endless data. */
export function linearTask(
  backend: Backend,
  saver: MemorySaver | undefined,
  more: Partial<FitOptions<readonly number[]>> = {},
) {
  const kernel = { name: 'kernel', backend, value: backend.zeros([2, 1]) }
  const bias = { data: new Float32Array(1), shape: [1] }
  const random = { draws: 0 }
  const numbers = Array.from({ length: 23 }, (_, k) => k)
  const options: FitOptions<readonly number[]> = {
    data: Dataset.fromArray(numbers).shuffle({ bufferSize: 23, seed: 4 }).repeat().batch(5).prefetch(2),
    async batchGradients(batch) {
      // Represents a dropout generator: the result depends on how often it was drawn from.
      const noise = 0.01 * Math.sin(random.draws++)
      const x = { data: Float32Array.from(batch.flatMap((k) => [Math.sin(k), Math.cos(3 * k)])), shape: [5, 2] }
      using y = backend.ops.linear(x, kernel.value, bias)
      const errors = Float32Array.from(
        (await y.read()).data,
        (value, row) => value - (2 * x.data[2 * row] - x.data[2 * row + 1]) + noise,
      )
      const outputGradient = { data: errors.map((error) => (2 * error) / 5), shape: [5, 1] }
      const gradients = backend.ops.linearGradients(x, kernel.value, outputGradient)
      gradients.input.dispose()
      gradients.bias.dispose()
      return { loss: errors.reduce((sum, error) => sum + error * error, 0) / 5, gradients: [gradients.kernel] }
    },
    optimizer: new Adam([kernel]),
    learningRate: cosineRate({ peak: 0.2, steps: 60, warmup: 5 }),
    maxSteps: 60,
    clipNorm: 1,
    saver,
    evaluateEvery: 7,
    state: {
      save: () => random.draws,
      restore: (saved: Position) => {
        random.draws = saved as number
      },
    },
    ...more,
  }
  return { options, kernel }
}
