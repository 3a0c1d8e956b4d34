import { type Backend, type BackendTensor, isBackendTensor } from '@cudnn-rnn/backend'
import { codedTypeError } from '@cudnn-rnn/canonical'
import type { Trainable } from '../optimizers/trainable.js'

/** Loss and gradients of one batch; {@link fit} disposes the tensors. */
export interface BatchResult {
  /**
   * A number, or the scalar on the executor. A scalar that is not read until the end of the step lets executors with
   * `Backend.steps` queue the step as a whole.
   */
  readonly loss: number | BackendTensor
  /** In the order of the optimizer's variables. */
  readonly gradients: readonly BackendTensor[]
}

/** Averages the gradients of several batches on the executor; owns every tensor it is given. */
export class GradientAccumulator {
  readonly #backend: Backend
  readonly #variables: readonly Trainable[]
  #gradients: readonly BackendTensor[] = []
  #losses: (number | BackendTensor)[] = []
  #count = 0

  constructor(backend: Backend, variables: readonly Trainable[]) {
    this.#backend = backend
    this.#variables = variables
  }

  /** Throws TypeError `ERR_NOT_A_BATCH_RESULT`. */
  add(result: BatchResult): void {
    const { loss, gradients } = checked(result)
    this.#losses.push(loss)
    this.#count++
    if (this.#count === 1) {
      this.#gradients = gradients
      return
    }
    for (const [index, gradient] of gradients.entries()) {
      this.#backend.ops.accumulate(this.#gradients[index]!, gradient)
      gradient.dispose()
    }
  }

  /** The losses of the batches; from now on they are the caller's. */
  takeLosses(): readonly (number | BackendTensor)[] {
    return this.#losses.splice(0)
  }

  /** Mean gradients; they live until the accumulator is disposed. */
  mean(): readonly BackendTensor[] {
    const count = this.#count
    if (count > 1) {
      const sums = this.#gradients
      this.#gradients = this.#variables.map(({ value }, index) => {
        const mean = this.#backend.zeros(value.shape, { layout: value.layout })
        this.#backend.ops.accumulate(mean, sums[index]!, 1 / count)
        return mean
      })
      for (const sum of sums) sum.dispose()
    }
    return this.#gradients
  }

  [Symbol.dispose](): void {
    for (const tensor of [...this.#gradients, ...this.takeLosses()]) if (isBackendTensor(tensor)) tensor.dispose()
    this.#gradients = []
  }
}

function checked(result: BatchResult): BatchResult {
  const isLoss = typeof result?.loss === 'number' || isBackendTensor(result?.loss)
  if (isLoss && Array.isArray(result.gradients) && result.gradients.every(isBackendTensor)) return result
  throw codedTypeError(
    'ERR_NOT_A_BATCH_RESULT',
    'Cannot go on training as batchGradients must resolve to { loss: number or scalar tensor, gradients: tensors of the executor }',
  )
}
