import type { BackendTensor, TensorLike } from '@cudnn-rnn/ops'
import type { FloatArray } from '@cudnn-rnn/canonical'

/** One sequence [T,1]. */
export interface RaggedSequence {
  readonly data: Float32Array
  readonly shape: readonly [number, 1]
}

/** Padded sequences, as `padSequences` of `@cudnn-rnn/train` makes them. */
interface PaddedBatch {
  /** [T,B,1] */
  readonly tensor: TensorLike
  readonly lengths: Int32Array
  /** [T,B] */
  readonly mask: { readonly data: Float32Array }
}

/** The calls of a `CudnnGRU` that a training makes. */
interface Gru<Params, Tape> {
  call(
    input: TensorLike,
    inputH: null,
    params: Params,
    options: { readonly isTraining: boolean; readonly sequenceLengths: Int32Array },
  ): Promise<{ readonly output: BackendTensor; readonly tape: Tape | undefined }>
  gradients(tape: Tape, gradients: { readonly output: TensorLike }): Promise<{ readonly params: BackendTensor }>
}

const UNITS = 3

/** Options of the task's GRU. */
export const RAGGED_GRU = { numLayers: 2, numUnits: UNITS, inputSize: 1 } as const

/** Ragged sequences of 1 to 6 steps. */
export const RAGGED_SEQUENCES: readonly RaggedSequence[] = Array.from({ length: 23 }, (_, row) => {
  const time = 1 + ((row * 5) % 6)
  return { data: Float32Array.from({ length: time }, (_, t) => Math.sin(row + t / 2)), shape: [time, 1] }
})

/**
 * A GRU on padded batches whose loss gives every step the same weight, so that the shares of ranks add up to the result of one
 * process.
 */
export class RaggedTask<Params, Tape> {
  readonly #gru: Gru<Params, Tape>
  readonly #params: Params

  constructor(gru: Gru<Params, Tape>, params: Params) {
    this.#gru = gru
    this.#params = params
  }

  /** `batchGradients` of `fit`. */
  async batchGradients(batch: PaddedBatch) {
    const { tape, shape, errors, weight, loss } = await this.#pass(batch, true)
    if (tape === undefined) throw new Error('a training call has a tape')
    const data = errors.map((error) => (2 * error) / weight)
    const { params } = await this.#gru.gradients(tape, { output: { data, shape } })
    return { loss, gradients: [params], weight }
  }

  /**
   * The mean loss of the steps of a rank's shares, and their number; 0 for none.
   *
   * @param shares some without a row.
   * @param pad `padSequences` of `@cudnn-rnn/train`.
   */
  async meanLoss(
    shares: AsyncIterable<readonly RaggedSequence[]>,
    pad: (sequences: readonly RaggedSequence[]) => PaddedBatch,
  ): Promise<{ readonly loss: number; readonly steps: number }> {
    let [sum, steps] = [0, 0]
    for await (const share of shares) {
      if (share.length === 0) continue
      const { loss, weight } = await this.#pass(pad(share), false)
      sum += loss * weight
      steps += weight
    }
    return { loss: steps === 0 ? 0 : sum / steps, steps }
  }

  async #pass({ tensor, lengths, mask }: PaddedBatch, isTraining: boolean) {
    const options = { isTraining, sequenceLengths: lengths }
    const { output, tape } = await this.#gru.call(tensor, null, this.#params, options)
    const { data } = await output.read()
    const weight = mask.data.reduce((sum, each) => sum + each, 0)
    const maskOf = (k: number) => mask.data[Math.floor(k / UNITS)] ?? 0
    const errors = Float32Array.from(data as FloatArray, (y, k) => (y - 0.3) * maskOf(k))
    return { tape, shape: output.shape, errors, weight, loss: errors.reduce((sum, e) => sum + e * e, 0) / weight }
  }
}
