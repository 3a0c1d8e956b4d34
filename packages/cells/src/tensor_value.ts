import type { BackendTensor, DenseOps } from '@cudnn-rnn/backend'
import { elementCount } from '@cudnn-rnn/canonical'
import type { GraphValue } from './step_graph.js'

/**
 * A tensor of a pass on an executor, and the gradient of the loss with respect to it once a later operation has added
 * to it.
 */
export class TensorValue implements GraphValue {
  readonly tensor: BackendTensor
  /** Whether gradients with respect to it are dropped: a mask, the state in which a sequence begins. */
  readonly isConstant: boolean
  #gradient: BackendTensor | undefined

  constructor(tensor: BackendTensor, isConstant = false) {
    this.tensor = tensor
    this.isConstant = isConstant
  }

  get shape(): readonly number[] {
    return this.tensor.shape
  }

  get size(): number {
    return elementCount(this.shape)
  }

  get columns(): number {
    return this.shape[this.shape.length - 1]
  }

  get rows(): number {
    return this.size / this.columns
  }

  get gradient(): BackendTensor | undefined {
    return this.#gradient
  }

  /** Adds a gradient, which becomes this value's or is disposed, also if the addition fails. */
  give(ops: DenseOps, gradient: BackendTensor): void {
    if (this.isConstant) {
      gradient.dispose()
      return
    }
    if (this.#gradient === undefined) {
      this.#gradient = gradient
      return
    }
    using given = gradient
    ops.accumulate(this.#gradient, given)
  }

  /** Adds a gradient that stays the caller's. */
  addGradient(ops: DenseOps, gradient: BackendTensor): void {
    if (this.isConstant) return
    if (this.#gradient === undefined) this.#gradient = ops.reshape(gradient, this.shape)
    else ops.accumulate(this.#gradient, gradient)
  }

  /** The gradient, which is the caller's from here on. */
  takeGradient(): BackendTensor | undefined {
    const gradient = this.#gradient
    this.#gradient = undefined
    return gradient
  }
}
