import { DTYPES, type DType } from '@cudnn-rnn/ops'
import { arrayTypeOf } from '@cudnn-rnn/canonical/rules'

const DTYPE_OF_ARRAY: ReadonlyMap<string | undefined, DType> = new Map(
  Object.entries(DTYPES).map(([dtype, { array }]) => [array.name, dtype as DType]),
)

/** The dtype of a host array, or undefined for an array type outside the contract. */
export function dtypeOf(data: unknown): DType | undefined {
  return DTYPE_OF_ARRAY.get(arrayTypeOf(data))
}
