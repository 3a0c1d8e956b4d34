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

const [UNITS, BATCH] = [3, 5]

/** Ragged sequences of 1 to 6 steps. */
const SEQUENCES = Array.from({ length: 23 }, (_, row) => {
  const time = 1 + ((row * 5) % 6)
  return { data: Float32Array.from({ length: time }, (_, t) => Math.sin(row + t / 2)), shape: [time, 1] as const }
})
/** The batches of an epoch: four of 5 sequences, and a last one of 3, in which the first of four ranks has none. */
const STEPS = Math.ceil(SEQUENCES.length / BATCH)

/**
 * Trains a GRU on padded batches, whose loss weighs every step alike, evaluates on shares of other batches after every epoch,
 * clips by the global norm, and stops early.
 */
export async function trainOnRagged(world: Communicator): Promise<RaggedTraining> {
  using backend = openReferenceBackend()
  const gru = new CudnnGRU(backend, { numLayers: 2, numUnits: UNITS, inputSize: 1 })
  // Ranks begin with the first one's values, not with their own.
  const params = gru.createParams({ seed: 1 + world.rank })
  const passOf = async (batch: ReturnType<typeof padSequences<Float32Array>>, isTraining: boolean) => {
    const { output, tape } = await gru.call(batch.tensor, null, params, { isTraining, sequenceLengths: batch.lengths })
    const { data } = await output.read()
    const weight = batch.mask.data.reduce((sum, each) => sum + each, 0)
    const errors = Float32Array.from(data, (y, k) => (y - 0.3) * batch.mask.data[Math.floor(k / UNITS)]!)
    return { tape, shape: output.shape, errors, weight, loss: errors.reduce((sum, e) => sum + e * e, 0) / weight }
  }
  const [losses, norms, metrics]: number[][] = [[], [], []]
  const { step, ending, best } = await fit({
    backend,
    data: Dataset.fromArray(SEQUENCES)
      .shuffle({ bufferSize: SEQUENCES.length, seed: 4 })
      .batch(BATCH)
      .repeat(6)
      .shard(world)
      .map((share) => padSequences(share)),
    async batchGradients(batch) {
      const { tape, shape, errors, weight, loss } = await passOf(batch, true)
      const data = errors.map((error) => (2 * error) / weight)
      const { params: gradient } = await gru.gradients(tape!, { output: { data, shape } })
      return { loss, gradients: [gradient], weight }
    },
    optimizer: new Adam(backend, [params]),
    learningRate: 0.05,
    maxSteps: 1000,
    clipNorm: 0.2,
    async evaluate() {
      let [sum, rows] = [0, 0]
      for await (const share of Dataset.fromArray(SEQUENCES.slice(0, 7)).batch(3).shard(world)) {
        if (share.length === 0) continue
        const { loss, weight } = await passOf(padSequences(share), false)
        sum += loss * weight
        rows += weight
      }
      return await weightedMeans(world, { loss: rows === 0 ? 0 : sum / rows }, rows)
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
