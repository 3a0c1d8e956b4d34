import { codedRangeError, codedTypeError } from '@cudnn-rnn/canonical/rules'
import { type Backend, type BackendTensor, isBackendTensor } from '@cudnn-rnn/ops'
import { checkGradientCount, type Trainable } from '../optimizers/trainable.js'

/** Loss and gradients of one batch; {@link fit} disposes the tensors. */
export interface BatchResult {
  /**
   * A number, or the scalar on the executor. A scalar that is not read until the end of the step lets executors with
   * `Backend.steps` queue the step as a whole.
   */
  readonly loss: number | BackendTensor
  /** In the order of the optimizer's variables. */
  readonly gradients: readonly BackendTensor[]
  /**
   * This batch's weight if several are averaged, by `accumulate` or over ranks: the number of its rows, or the sum of their
   * weights, that loss and gradients are means over. Default: the length of a batch that is an array or has `items`, else 1.
   */
  readonly weight?: number | undefined
}

/** The weight of a batch in an average over several. Throws RangeError `ERR_BATCH_WEIGHT`. */
export function weightOf(batch: unknown, { weight }: BatchResult): number {
  if (weight !== undefined) {
    if (Number.isFinite(weight) && weight >= 0) return weight
    throw codedRangeError(
      'ERR_BATCH_WEIGHT',
      `Cannot average batches as the weight of each must be a finite number >= 0: current value is ${String(weight)}`,
      { weight },
    )
  }
  const rows = Array.isArray(batch) ? batch : (batch as { readonly items?: unknown } | null | undefined)?.items
  return Array.isArray(rows) ? rows.length : 1
}

export interface WeightedLoss {
  readonly loss: number | BackendTensor
  readonly weight: number
}

/** Averages the gradients of several batches by their weights, on the executor; owns every tensor it is given. */
export class GradientAccumulator {
  readonly #backend: Backend
  readonly #variables: readonly Trainable[]
  /** Σ weight·gradient / `#base` */
  #gradients: readonly BackendTensor[] = []
  /** Weight of the first batch that counts, or of all once the mean was taken. */
  #base = 0
  #total = 0
  #losses: WeightedLoss[] = []

  constructor(backend: Backend, variables: readonly Trainable[]) {
    this.#backend = backend
    this.#variables = variables
  }

  /**
   * A result that is refused is disposed.
   *
   * @throws TypeError `ERR_NOT_A_BATCH_RESULT`; RangeError `ERR_BATCH_WEIGHT`, `ERR_GRADIENT_COUNT`, `ERR_SHAPE`
   */
  add(result: BatchResult, batch: unknown): void {
    const { loss, gradients } = checkedResult(result)
    try {
      const weight = weightOf(batch, result)
      if (weight > 0) checkGradientCount('average gradients', gradients, this.#variables)
      this.#addGradients(gradients, weight)
      this.#losses.push({ loss, weight })
      this.#total += weight
    } catch (error) {
      for (const tensor of [loss, ...gradients]) if (isBackendTensor(tensor)) tensor.dispose()
      throw error
    }
  }

  get weight(): number {
    return this.#total
  }

  /** The losses of the batches, which the caller owns from now on. */
  takeLosses(): readonly WeightedLoss[] {
    return this.#losses.splice(0)
  }

  /** Mean gradients; they live until the accumulator is disposed. */
  mean(): readonly BackendTensor[] {
    if (this.#total !== this.#base) {
      const sums = this.#gradients
      this.#gradients = this.#variables.map(({ value }, index) => {
        const mean = this.#backend.zeros(value.shape, { layout: value.layout })
        this.#backend.ops.accumulate(mean, sums[index], this.#base / this.#total)
        return mean
      })
      for (const sum of sums) sum.dispose()
      this.#base = this.#total
    }
    return this.#gradients
  }

  [Symbol.dispose](): void {
    for (const tensor of [...this.#gradients, ...this.takeLosses().map(({ loss }) => loss)]) {
      if (isBackendTensor(tensor)) tensor.dispose()
    }
    this.#gradients = []
  }

  /** Takes the gradients over. */
  #addGradients(gradients: readonly BackendTensor[], weight: number): void {
    if (this.#base === 0) {
      for (const gradient of this.#gradients) gradient.dispose()
      this.#gradients = gradients
      this.#base = weight
      return
    }
    for (const [index, gradient] of gradients.entries()) {
      if (weight > 0) this.#backend.ops.accumulate(this.#gradients[index], gradient, weight / this.#base)
      gradient.dispose()
    }
  }
}

/** Throws TypeError `ERR_NOT_A_BATCH_RESULT`. */
export function checkedResult(result: BatchResult): BatchResult {
  const isLoss = typeof result?.loss === 'number' || isBackendTensor(result?.loss)
  if (isLoss && Array.isArray(result.gradients) && result.gradients.every(isBackendTensor)) return result
  throw codedTypeError(
    'ERR_NOT_A_BATCH_RESULT',
    'Cannot go on training as batchGradients must resolve to { loss: number or scalar tensor, gradients: tensors of the executor }',
  )
}
