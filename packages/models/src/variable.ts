import { type CellMode, describeValue, Inspectable, type Summary } from '@cudnn-rnn/canonical'
import { codedTypeError } from '@cudnn-rnn/canonical/rules'
import { type Backend, type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { checkIsBackend, isVariable, tensorSummary } from '@cudnn-rnn/ops/executor'

/**
 * A named tensor that training updates: TensorFlow's variable. `value` stays the same tensor for life; `assign` and the
 * optimizers write into it. `Cell` is the cell of the model that made it.
 *
 * @example
 * ```ts
 * import { openBackend, Variable } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const bias = new Variable(backend, backend.zeros([3]), 'bias')
 * bias.assign({ data: Float32Array.of(1, 2, 3), shape: [3] })
 * console.log(bias.name, bias.shape, await bias.value.data()) // bias [3] [1, 2, 3]
 * ```
 */
export class Variable<Cell extends CellMode = CellMode> extends Inspectable {
  /** Never set: for the compiler, parameters of one cell are not parameters of another. A method, so that `Variable` is of any cell. */
  declare protected readonly ofCell?: { of(cell: Cell): void }['of']
  readonly name: string
  readonly value: BackendTensor
  readonly #backend: Backend

  /** Takes ownership of `value`. */
  constructor(backend: Backend, value: BackendTensor, name: string) {
    super()
    checkIsBackend('make a variable', backend)
    if (!isBackendTensor(value)) {
      throw codedTypeError(
        'ERR_NOT_A_TENSOR',
        `Cannot make a variable as its value must be a tensor of the executor: current value is ${describeValue(value)}. Make one with backend.tensor().`,
        { argument: 'value' },
      )
    }
    this.#backend = backend
    this.value = value
    this.name = name
  }

  /** The executor of {@link value}. */
  get backend(): Backend {
    return this.#backend
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

  protected override summary(): Summary {
    const { kind: _, ...tensor } = tensorSummary(this.value)
    return { kind: 'Variable', name: this.name, ...tensor }
  }
}

/** Opaque parameters as a model's methods take them. */
export type Params<Cell extends CellMode = CellMode> = Variable<Cell> | TensorLike

/** TensorFlow's name of opaque parameters. */
export const DEFAULT_NAME = 'opaque_kernel'

/** The name of `params`. */
export function paramsName(params: Params): string {
  return isVariable(params) ? params.name : DEFAULT_NAME
}

/** The tensor of `params`. */
export function paramsTensor(params: Params): TensorLike {
  return isVariable(params) ? params.value : params
}
