import type { FloatArray } from '@cudnn-rnn/canonical'
import { checkIsObject, codedTypeError } from '@cudnn-rnn/canonical/rules'
import type { Backend, FloatDType, HostLstm, HostProducts } from '@cudnn-rnn/ops'
import { addColumnSums, addProduct, matrix, transposed } from '@cudnn-rnn/ops/executor'
import { type FloatTensor, newArray } from './float_tensor.js'

/** Left and right operands of one product of a kernel's gradient: x [rows, M] and ∂z [rows, N]. */
interface GradientOperands {
  readonly left: FloatArray
  readonly right: FloatArray
}

/** Rows [begin, begin + count) of a kernel's gradient [·,N]. */
interface GradientRows {
  readonly gradient: FloatTensor
  readonly begin: number
  readonly count: number
  readonly operands: GradientOperands[]
}

/**
 * The state that the steps of one call share: whether it trains, and the sums over time of its backward.
 *
 * A kernel's gradient is Σ_t x_tᵀ·∂z_t. Its products wait until {@link finishGradients} and are one product of T·B rows then:
 * the kernel's gradient is read and written once, and not once per step.
 *
 * @example
 * ```ts
 * import { outputSize } from '@cudnn-rnn/rnn/canonical'
 * import { type CellRun, dynamicRnn, type FloatTensor, RNNCell } from '@cudnn-rnn/rnn/cells'
 *
 * // A cell that adds its input to its state. Its steps get the run that they belong to.
 * class SumCell extends RNNCell<FloatTensor> {
 *   readonly stateSize = 1
 *   readonly outputSize = 1
 *   variableSpecs() {
 *     return []
 *   }
 *   step({ data, shape }: FloatTensor, state: FloatTensor, _run: CellRun) {
 *     const sum = { data: data.map((x, at) => x + (state.data[at] ?? 0)), shape }
 *     return { output: sum, state: sum, backward: (input: FloatTensor) => ({ input, state: input }) }
 *   }
 * }
 * const inputs = { data: Float32Array.of(1, 2, 3), shape: [1, 3, 1] } // [B,T,I]
 * console.log(dynamicRnn(new SumCell('sum'), inputs, { training: false }).outputs.data) // [1, 3, 6]
 * ```
 */
export class CellRun {
  readonly dtype: FloatDType
  /** False in inference: nothing is kept for a backward, and nothing is dropped. */
  readonly training: boolean
  /** Computes the products of matrices. */
  readonly products: HostProducts
  /** Computes the recurrence of LSTMs; undefined: in TypeScript. */
  readonly lstm: HostLstm | undefined
  readonly #waiting = new Map<FloatTensor, Map<number, GradientRows>>()
  readonly #masks = new Map<object, FloatArray>()

  constructor(dtype: FloatDType, training: boolean, { products, lstm }: HostKernels) {
    this.dtype = dtype
    this.training = training
    this.products = products
    this.lstm = lstm
  }

  /** The value made for `owner` by the first step of the run; the others get the same. */
  once(owner: object, make: () => FloatArray): FloatArray {
    const made = this.#masks.get(owner) ?? make()
    this.#masks.set(owner, made)
    return made
  }

  /**
   * Adds leftᵀ·right to rows [begin, begin + count) of `gradient` when the backward ends.
   *
   * @param left [rows, count] and `right` [rows, N], which nothing may write any more.
   */
  addToKernelGradient(gradient: FloatTensor, begin: number, count: number, left: FloatArray, right: FloatArray): void {
    const parts = this.#waiting.get(gradient) ?? new Map<number, GradientRows>()
    this.#waiting.set(gradient, parts)
    const part = parts.get(begin) ?? { gradient, begin, count, operands: [] }
    parts.set(begin, part)
    part.operands.push({ left, right })
  }

  /** Adds everything that waits to the gradients; called once, when the backward has passed every step. */
  finishGradients(): void {
    for (const parts of this.#waiting.values()) for (const part of parts.values()) this.#finish(part)
    this.#waiting.clear()
  }

  #finish({ gradient, begin, count, operands }: GradientRows): void {
    const columns = gradient.shape[gradient.shape.length - 1]
    const left = joined(
      this.dtype,
      operands.map((each) => each.left),
    )
    const right = joined(
      this.dtype,
      operands.map((each) => each.right),
    )
    const target = matrix(gradient.data, columns, begin * columns)
    const rows = right.length / columns
    this.products.addProduct(target, transposed(matrix(left, count)), matrix(right, columns), count, columns, rows)
  }
}

/** ∂b [N] += the sum of the rows of ∂z [rows, N] */
export function addToBiasGradient(gradient: FloatTensor, dz: FloatArray): void {
  const columns = gradient.data.length
  addColumnSums(gradient.data, 0, dz, dz.length / columns, columns)
}

function joined(dtype: FloatDType, arrays: readonly FloatArray[]): FloatArray {
  if (arrays.length === 1) return arrays[0]
  const all = newArray(
    dtype,
    arrays.reduce((sum, { length }) => sum + length, 0),
  )
  let begin = 0
  for (const array of arrays) {
    all.set(array, begin)
    begin += array.length
  }
  return all
}

/** An executor whose products, and recurrence of LSTMs, cells use: any `Backend`. */
export type ProductBackend = Pick<Backend, 'name' | 'dtype' | 'products' | 'lstm'>

interface HostKernels {
  readonly products: HostProducts
  /** Undefined: the recurrence of LSTMs is computed in TypeScript. */
  readonly lstm: HostLstm | undefined
}

const TYPESCRIPT: HostProducts = { addProduct }

/**
 * The kernels that a run uses: the executor's if it has some, else those in TypeScript.
 *
 * @throws TypeError `ERR_INVALID_OPTION_TYPE`, `ERR_DTYPE` for an executor of another dtype
 */
export function kernelsOf(action: string, backend: ProductBackend | undefined, dtype: FloatDType): HostKernels {
  if (backend === undefined) return { products: TYPESCRIPT, lstm: undefined }
  checkIsObject(action, 'backend', backend)
  if (backend.dtype !== dtype) {
    throw codedTypeError(
      'ERR_DTYPE',
      `Cannot ${action} as the backend must have the cell's dtype ${dtype}: current dtype is ${backend.dtype}`,
      { argument: 'backend', expected: dtype, actual: backend.dtype },
    )
  }
  return { products: backend.products ?? TYPESCRIPT, lstm: backend.lstm }
}
