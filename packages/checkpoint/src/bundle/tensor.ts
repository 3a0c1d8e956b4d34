import { arrayTypeOf, describeValue, elementCount, liveLength } from '@cudnn-rnn/canonical/rules'
import { type CheckpointDType, DTYPES, dtypeOfArray, type NumericArray } from './dtype.js'
import { CheckpointError } from '../errors.js'

/** Elements of a tensor: numbers in a typed array, or byte strings. */
export type TensorData = NumericArray | readonly Uint8Array[]

/** A tensor as it is read: row-major elements, shape, and dtype. */
export interface CheckpointTensor {
  readonly data: TensorData
  readonly shape: readonly number[]
  readonly dtype: CheckpointDType
}

/** A tensor to write; `dtype` follows from the array unless it is one of those that share it (bool, float16, …). */
export interface WritableTensor {
  readonly data: TensorData | readonly string[]
  readonly shape: readonly number[]
  readonly dtype?: CheckpointDType | undefined
}

/** The dtype a tensor is written with. Throws `ERR_TENSOR_INVALID` when data, shape and dtype do not fit together. */
export function checkWritable(name: string, { data, shape, dtype }: WritableTensor): CheckpointDType {
  const invalid = (rule: string) =>
    new CheckpointError('ERR_TENSOR_INVALID', `Cannot write tensor ${name} as ${rule}`, { tensorName: name })
  if (!Array.isArray(shape)) throw invalid(`its shape must be an array: current value is ${describeValue(shape)}`)
  if (!shape.every((size) => Number.isSafeInteger(size) && size >= 0)) {
    throw invalid(`every dimension must be an integer >= 0: current shape is [${shape.map(describeValue).join(',')}]`)
  }
  if (dtype !== undefined && !Object.hasOwn(DTYPES, dtype)) {
    throw invalid(
      `its dtype must be one of ${Object.keys(DTYPES).join(', ')}: current value is ${describeValue(dtype)}`,
    )
  }
  const resolved = dtype ?? (Array.isArray(data) ? 'string' : dtypeOfArray(data))
  if (resolved === undefined) throw invalid(`its data must be a typed array or an array of strings`)
  const { array, perElement } = DTYPES[resolved]
  const fits = array === undefined ? Array.isArray(data) : arrayTypeOf(data) === array.name
  if (!fits)
    throw invalid(`${resolved} needs a ${array?.name ?? 'string array'}: current value is ${describeValue(data)}`)
  const expected = elementCount(shape) * perElement
  const length = ArrayBuffer.isView(data) ? liveLength(data) : data.length
  if (length !== expected) {
    throw invalid(`shape [${shape.join(',')}] of ${resolved} needs ${expected} values: current number is ${length}`)
  }
  // `every` passes over holes.
  if (
    Array.isArray(data) &&
    data.findIndex((value) => typeof value !== 'string' && arrayTypeOf(value) !== 'Uint8Array') >= 0
  ) {
    throw invalid('its data must be an array of strings or Uint8Arrays')
  }
  return resolved
}
