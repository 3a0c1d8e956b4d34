import { type LocalCommunicator, localCommunicators } from '@cudnn-rnn/conformance/communicators'
import { RAGGED_GRU, RAGGED_SEQUENCES, type RaggedSequence, RaggedTask } from '@cudnn-rnn/conformance/ragged_task'
import { CudnnGRU } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import {
  Adam,
  constantRate,
  Dataset,
  type FitOptions,
  type FitResult,
  fit,
  padSequences,
  type StepReport,
  weightedMeans,
} from '../../src/index.js'
import { MemorySaver } from './linear_task.js'

/** Shuffled batches of 5, four times. */
export const batches = (seed: number, sequences: readonly RaggedSequence[], world = { rank: 0, size: 1 }) =>
  Dataset.fromArray(sequences)
    .shuffle({ bufferSize: 23, seed })
    .repeat(4)
    .batch(5)
    .shard(world)
    .map((share) => padSequences(share))

export interface Run {
  readonly reports: readonly StepReport[]
  readonly result: FitResult
  readonly elements: readonly number[]
}

/** One rank of a run of {@link RaggedTask} on batches of 5, the last of an epoch of 3. */
export async function train(
  communicator: LocalCommunicator | undefined,
  saver: MemorySaver | undefined,
  more: Partial<FitOptions<ReturnType<typeof padSequences<Float32Array>>>> = {},
): Promise<Run> {
  const world = communicator ?? { rank: 0, size: 1 }
  using backend = openReferenceBackend()
  const gru = new CudnnGRU(backend, RAGGED_GRU)
  // Every rank begins with rank 0's values.
  const params = gru.createParams({ seed: 1 + world.rank })
  const task = new RaggedTask(gru, params)
  const reports: StepReport[] = []
  const result = await fit({
    data: batches(4, RAGGED_SEQUENCES, world),
    batchGradients: (batch) => task.batchGradients(batch),
    optimizer: new Adam([params]),
    learningRate: constantRate(0.05),
    maxSteps: 1000,
    clipNorm: 0.2,
    evaluate: async () => {
      const shares = Dataset.fromArray(RAGGED_SEQUENCES.slice(0, 7)).batch(3).shard(world)
      const { loss, steps } = await task.meanLoss(shares, padSequences)
      return communicator === undefined ? { loss } : await weightedMeans(communicator as never, { loss }, steps)
    },
    evaluateEvery: 4,
    earlyStopping: { metric: 'loss' },
    // A store is one directory: each rank's saver writes with its own executor.
    saver: saver && Object.assign(new MemorySaver(backend), { saved: saver.saved }),
    communicator: communicator as never,
    onStep: (report) => void reports.push(report),
    ...more,
  })
  return { reports, result, elements: [...(await params.value.read()).data] }
}

/** The same on every rank of a communicator of this thread. */
export async function trainOver(
  size: number,
  saver?: (rank: number) => MemorySaver,
  more?: (rank: number) => Partial<FitOptions<ReturnType<typeof padSequences<Float32Array>>>>,
): Promise<Run[]> {
  const communicators = localCommunicators(size)
  return await Promise.all(communicators.map((each, rank) => train(each, saver?.(rank), more?.(rank))))
}
