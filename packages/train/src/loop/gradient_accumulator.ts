import type { Backend, BackendTensor } from '@cudnn-rnn/backend'
import type { Trainable } from '../optimizers/trainable.js'

/** Loss and gradients of one batch; {@link fit} disposes the gradients. */
export interface BatchResult {
  readonly loss: number
  /** In the order of the optimizer's variables. */
  readonly gradients: readonly BackendTensor[]
}

/** Averages the gradients of several batches on the executor; owns every tensor it is given. */
export class GradientAccumulator {
  readonly #backend: Backend
  readonly #variables: readonly Trainable[]
  #gradients: readonly BackendTensor[] = []
  #loss = 0
  #count = 0

  constructor(backend: Backend, variables: readonly Trainable[]) {
    this.#backend = backend
    this.#variables = variables
  }

  /** Batches added. */
  get count(): number {
    return this.#count
  }

  add({ loss, gradients }: BatchResult): void {
    this.#loss += loss
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

  /** Mean loss and mean gradients; the tensors live until the accumulator is disposed. */
  mean(): BatchResult {
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
    return { loss: this.#loss / count, gradients: this.#gradients }
  }

  [Symbol.dispose](): void {
    for (const gradient of this.#gradients) gradient.dispose()
    this.#gradients = []
  }
}
