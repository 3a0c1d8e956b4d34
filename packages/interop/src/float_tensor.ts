import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { arrayTypeOf, kind, liveLength } from '@cudnn-rnn/canonical/rules'

/** A tensor of float32 or float64 on the host, as many elements as its shape specifies. */
export const FLOAT_TENSOR = kind('a tensor of floats', (value): value is Tensor<FloatArray> => {
  if (typeof value !== 'object' || value === null || !('data' in value && 'shape' in value)) return false
  const { data, shape } = value
  const isFloat = ['Float32Array', 'Float64Array'].includes(arrayTypeOf(data) ?? '')
  if (!isFloat || !Array.isArray(shape)) return false
  const isShape = shape.every((size) => Number.isSafeInteger(size) && size >= 0)
  return isShape && liveLength(data as Float32Array) === elementCount(shape)
})
