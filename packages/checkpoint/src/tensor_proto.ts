import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { decodeMessage } from './bundle_messages.js'
import { type CheckpointDType, DTYPES, type NumericArray } from './dtype.js'
import { CheckpointError } from './errors.js'
import type { TensorData } from './tensor.js'

/** Values of a TensorProto in the order of its elements; complex numbers as real, imaginary. */
export interface TensorProtoValues {
  /** The field that held them; undefined when there are none. */
  readonly field: number | undefined
  readonly values: readonly (number | bigint | Uint8Array)[]
}

/** The fields of TensorProto (tensorflow/core/framework/tensor.proto) that hold values, and how one value is read. */
const VALUE_FIELDS: Readonly<Record<number, (reader: BinaryReader) => number | bigint | Uint8Array>> = {
  5: (reader) => reader.float(),
  6: (reader) => reader.double(),
  7: (reader) => reader.int32(),
  8: (reader) => reader.bytes(),
  9: (reader) => reader.float(), // scomplex
  10: (reader) => BigInt(reader.int64()),
  11: (reader) => Number(reader.bool()),
  12: (reader) => reader.double(), // dcomplex
  13: (reader) => reader.int32(), // half and bfloat16, as bit patterns
  16: (reader) => reader.uint32(),
  17: (reader) => BigInt(reader.uint64()),
}

const FIELD_OF_DTYPE: Readonly<Record<CheckpointDType, keyof typeof VALUE_FIELDS>> = {
  float32: 5,
  float64: 6,
  int32: 7,
  uint8: 7,
  int16: 7,
  int8: 7,
  string: 8,
  complex64: 9,
  int64: 10,
  bool: 11,
  bfloat16: 13,
  uint16: 7,
  complex128: 12,
  float16: 13,
  uint32: 16,
  uint64: 17,
}

const STRING_FIELD = FIELD_OF_DTYPE.string

/**
 * Reads the values of a TensorProto, packed or not. V1 checkpoints never use its raw `tensor_content`.
 *
 * @throws CheckpointError `ERR_CHECKPOINT_CORRUPT`, also for values in several fields: a tensor has one type
 */
export function decodeTensorProto(bytes: Uint8Array): TensorProtoValues {
  const values: (number | bigint | Uint8Array)[] = []
  let holder: number | undefined
  decodeMessage(bytes, (field, reader, wireType) => {
    const read = VALUE_FIELDS[field]
    if (read === undefined) return false
    holder ??= field
    if (holder !== field) throw corrupt('has values of several types')
    if (field === STRING_FIELD || wireType !== WireType.LengthDelimited) {
      values.push(read(reader))
      return true
    }
    const packed = new BinaryReader(reader.bytes())
    while (packed.pos < packed.len) values.push(read(packed))
    return true
  })
  return { field: holder, values }
}

/** The values as a tensor holds them. Throws `ERR_CHECKPOINT_CORRUPT` for values of another type or range. */
export function tensorData(dtype: CheckpointDType, { field, values }: TensorProtoValues): TensorData {
  if (field !== undefined && field !== FIELD_OF_DTYPE[dtype]) throw corrupt(`has values of another type than ${dtype}`)
  const { array, bytes, perElement } = DTYPES[dtype]
  if (array === undefined) return values as readonly Uint8Array[]
  const typed: NumericArray = new array(new ArrayBuffer((values.length * bytes) / perElement))
  const isExact = !(typed instanceof Float32Array || typed instanceof Float64Array)
  for (const [index, value] of values.entries()) {
    typed[index] = value as never
    if (isExact && typed[index] !== value) throw corrupt(`has a value out of the range of ${dtype}`)
  }
  return typed
}

function corrupt(rule: string): CheckpointError {
  return new CheckpointError('ERR_CHECKPOINT_CORRUPT', `Cannot read a tensor as it ${rule}`)
}
