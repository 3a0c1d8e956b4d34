import type { Backend, BackendTensor, TensorLike } from '@cudnn-rnn/backend'

/**
 * A named tensor that training updates: TensorFlow's variable. `value` stays the same tensor for life; `assign` and the
 * optimizers write into it.
 */
export class Variable {
  readonly name: string
  readonly value: BackendTensor
  readonly #backend: Backend

  /** Takes ownership of `value`. */
  constructor(backend: Backend, value: BackendTensor, name: string) {
    this.#backend = backend
    this.value = value
    this.name = name
  }

  get shape(): readonly number[] {
    return this.value.shape
  }

  /**
   * Copies `tensor` into the variable.
   *
   * @throws RangeError `ERR_SHAPE`, `ERR_OTHER_LAYOUT` (parameters of another model), `ERR_TENSOR_DISPOSED`;
   *   TypeError `ERR_DTYPE`; in each case the variable keeps its value
   */
  assign(tensor: TensorLike): void {
    this.#backend.ops.assign(this.value, tensor)
  }

  dispose(): void {
    this.value.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}

/** Opaque parameters as a model's methods take them. */
export type Params = Variable | TensorLike

/** The tensor of `params`. */
export function paramsTensor(params: Params): TensorLike {
  return params instanceof Variable ? params.value : params
}
