import type { BackendTensor } from '@cudnn-rnn/ops'
import { type FloatArray, Inspectable, type Summary, type Tensor } from '@cudnn-rnn/canonical'
import { hasMember } from '@cudnn-rnn/canonical/rules'

/**
 * A tensor on a tape, which owns it: a result of `t.<operation>`, or a variable or a constant as the tape sees it.
 *
 * @example
 * ```ts
 * import { openBackend, type Value, Variable } from '@cudnn-rnn/rnn'
 * import { infer } from '@cudnn-rnn/rnn/train'
 *
 * const backend = await openBackend('reference')
 * const x = new Variable(backend, backend.zeros([2, 3]), 'x')
 * await infer((t, p: typeof x) => {
 *   const y: Value = t.exp(p)
 *   console.log(y.shape, y.isDifferentiated) // [2, 3] false
 *   return y
 * })(x)
 * ```
 */
export class Value extends Inspectable {
  readonly tensor: BackendTensor
  /** False of constants, and of results that depend on constants alone. */
  readonly isDifferentiated: boolean
  /** The recording that it belongs to. */
  readonly #home: object

  constructor(home: object, tensor: BackendTensor, isDifferentiated: boolean) {
    super()
    this.#home = home
    this.tensor = tensor
    this.isDifferentiated = isDifferentiated
  }

  get shape(): readonly number[] {
    return this.tensor.shape
  }

  /** The elements on the host, which are a constant: no gradient passes through them. */
  read(): Promise<Tensor<FloatArray>> {
    return this.tensor.read()
  }

  isOf(recording: object): boolean {
    return this.#home === recording
  }

  protected override summary(): Summary {
    return { kind: 'Value', shape: `[${this.shape.join(',')}]`, isDifferentiated: this.isDifferentiated }
  }
}

/** Whether a value is on a tape, of any copy of the package. */
export function isValue(value: unknown): value is Value {
  return hasMember(value, 'isDifferentiated')
}
