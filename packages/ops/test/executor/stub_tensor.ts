import { elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import { type BackendTensor, DTYPES, type DType } from '@cudnn-rnn/ops'

/** A backend tensor with the fields that argument checks look at. */
export function stubTensor(
  shape: readonly number[],
  { dtype = 'float32' as DType, layout = undefined as string | undefined, disposed = false } = {},
): BackendTensor {
  const data = new DTYPES[dtype].array(elementCount(shape)) as FloatArray
  const dispose = () => {}
  return {
    ...{ shape, dtype, layout, disposed, dispose, [Symbol.dispose]: dispose },
    read: async () => ({ data, shape }),
    data: async () => data,
    toArray: async () => [...data],
  }
}

/** A host tensor of zeros. */
export function zeros(...shape: number[]) {
  return { data: new Float32Array(elementCount(shape)), shape }
}

/** A host tensor of int32 zeros. */
export function ids(...shape: number[]) {
  return { data: new Int32Array(elementCount(shape)), shape }
}
