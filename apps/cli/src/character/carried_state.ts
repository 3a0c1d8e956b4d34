import type { Backend, LSTMCallResult, Trainable } from '@cudnn-rnn/rnn'

/** The recurrent state of B rows of text, carried from window to window; it begins at zero. */
export class CarriedState {
  readonly h: Trainable
  readonly c: Trainable
  readonly #backend: Backend

  /** @param shape [L,B,H] */
  constructor(backend: Backend, shape: readonly number[]) {
    this.#backend = backend
    this.h = { name: 'state/h', value: backend.zeros(shape) }
    this.c = { name: 'state/c', value: backend.zeros(shape) }
  }

  /** Tensors for a checkpoint. */
  get tensors(): readonly Trainable[] {
    return [this.h, this.c]
  }

  reset(): void {
    const { shape } = this.h.value
    using zeros = this.#backend.zeros(shape)
    for (const { value } of this.tensors) this.#backend.ops.assign(value, zeros)
  }

  /** Continues from the end of a window. */
  keep({ outputH, outputC }: LSTMCallResult<boolean>): void {
    this.#backend.ops.assign(this.h.value, outputH)
    this.#backend.ops.assign(this.c.value, outputC)
  }

  dispose(): void {
    for (const { value } of this.tensors) value.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}
