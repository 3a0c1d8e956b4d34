import { RAGGED_GRU, RAGGED_SEQUENCES, RaggedTask } from '@cudnn-rnn/conformance/ragged_task'
import { CudnnGRU } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { Adam, type Communicator, Dataset, fit, padSequences, weightedMeans } from '@cudnn-rnn/train'

/** The result of a training over ragged sequences, equal at every number of ranks. */
export interface RaggedTraining {
  readonly step: number
  readonly ending: string
  readonly best: number
  readonly losses: readonly number[]
  readonly norms: readonly number[]
  readonly metrics: readonly number[]
  readonly parameters: readonly number[]
}

const BATCH = 5
/** The batches of an epoch: four of 5 sequences, and a last one of 3, in which the first of four ranks has none. */
const STEPS = Math.ceil(RAGGED_SEQUENCES.length / BATCH)

/**
 * Trains the GRU of {@link RaggedTask}, evaluates on shares of other batches after every epoch, clips by the global norm, and
 * stops early.
 */
export async function trainOnRagged(world: Communicator): Promise<RaggedTraining> {
  using backend = openReferenceBackend()
  const gru = new CudnnGRU(backend, RAGGED_GRU)
  // Ranks begin with the first one's values, not with their own.
  const params = gru.createParams({ seed: 1 + world.rank })
  const task = new RaggedTask(gru, params)
  const [losses, norms, metrics]: number[][] = [[], [], []]
  const { step, ending, best } = await fit({
    data: Dataset.fromArray(RAGGED_SEQUENCES)
      .shuffle({ bufferSize: RAGGED_SEQUENCES.length, seed: 4 })
      .batch(BATCH)
      .repeat(6)
      .shard(world)
      .map((share) => padSequences(share)),
    batchGradients: (batch) => task.batchGradients(batch),
    optimizer: new Adam([params]),
    learningRate: 0.05,
    maxSteps: 1000,
    clipNorm: 0.2,
    async evaluate() {
      const shares = Dataset.fromArray(RAGGED_SEQUENCES.slice(0, 7)).batch(3).shard(world)
      const { loss, steps } = await task.meanLoss(shares, padSequences)
      return await weightedMeans(world, { loss }, steps)
    },
    evaluateEvery: STEPS,
    // The loss falls from the first evaluation on, so none after it has a greater one.
    earlyStopping: { metric: 'loss', mode: 'max', patience: 2 },
    communicator: world,
    onStep(report) {
      losses!.push(report.loss)
      norms!.push(report.gradientNorm)
      if (report.metrics) metrics!.push(report.metrics['loss']!)
    },
  })
  const parameters = [...(await params.value.read()).data]
  return { step, ending, best: best!.value, losses: losses!, norms: norms!, metrics: metrics!, parameters }
}
