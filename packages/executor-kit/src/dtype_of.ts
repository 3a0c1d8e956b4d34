import { DTYPES, type DType } from '@cudnn-rnn/backend'
import { arrayTypeOf } from '@cudnn-rnn/canonical'

const DTYPE_OF_ARRAY: ReadonlyMap<string | undefined, DType> = new Map(
  Object.entries(DTYPES).map(([dtype, { array }]) => [array.name, dtype as DType]),
)

/**
 * The dtype of a host array, or undefined for an array type outside the contract.
 *
 * @example
 * ```ts
 * import { dtypeOf } from '@cudnn-rnn/executor-kit'
 *
 * console.log(dtypeOf(new Float32Array(1)), dtypeOf(new Int32Array(1)), dtypeOf(new Uint8Array(1)))
 * // float32 int32 undefined
 * ```
 */
export function dtypeOf(data: unknown): DType | undefined {
  return DTYPE_OF_ARRAY.get(arrayTypeOf(data))
}
