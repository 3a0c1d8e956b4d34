import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { walkMessage } from '@cudnn-rnn/checkpoint/files'
import { guardedMessage } from './bundle_messages.js'
import { type CheckpointDType, DTYPES, type NumericArray } from './dtype.js'
import { corrupt } from '../errors.js'
import type { TensorData } from './tensor.js'

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
 * How many values a TensorProto has, packed or not. V1 checkpoints never use its raw `tensor_content`.
 *
 * @throws CheckpointError `ERR_CHECKPOINT_CORRUPT`, also for values in several fields: a tensor has one type
 */
export function countValues(bytes: Uint8Array): number {
  let count = 0
  visitValues(bytes, () => count++)
  return count
}

/**
 * The values of a TensorProto as a tensor of `dtype` holds them, in the order of its elements.
 *
 * @throws CheckpointError `ERR_CHECKPOINT_CORRUPT` for values of another type or range
 */
export function decodeTensorProto(dtype: CheckpointDType, bytes: Uint8Array): TensorData {
  const { array, bytes: elementBytes, perElement } = DTYPES[dtype]
  const check = (field: number) => {
    if (field !== FIELD_OF_DTYPE[dtype]) throw corrupt('a tensor', `it has values of another type than ${dtype}`)
  }
  if (array === undefined) {
    const strings: Uint8Array[] = []
    visitValues(bytes, (field, value) => {
      check(field)
      strings.push(value as Uint8Array)
    })
    return strings
  }
  const typed: NumericArray = new array(new ArrayBuffer((countValues(bytes) * elementBytes) / perElement))
  const isExact = !(typed instanceof Float32Array || typed instanceof Float64Array)
  let index = 0
  visitValues(bytes, (field, value) => {
    check(field)
    typed[index] = value as never
    if (isExact && typed[index] !== value) throw corrupt('a tensor', `it has a value out of the range of ${dtype}`)
    index++
  })
  return typed
}

function visitValues(bytes: Uint8Array, visit: (field: number, value: number | bigint | Uint8Array) => void): void {
  let holder: number | undefined
  const readerOf = (field: number) => {
    const read = VALUE_FIELDS[field]
    if (read === undefined) return undefined
    holder ??= field
    if (holder !== field) throw corrupt('a tensor', 'it has values of several types')
    return (reader: BinaryReader, wireType: WireType) => {
      if (field === STRING_FIELD || wireType !== WireType.LengthDelimited) {
        visit(field, read(reader))
        return
      }
      const packed = new BinaryReader(reader.bytes())
      while (packed.pos < packed.len) visit(field, read(packed))
    }
  }
  guardedMessage(() => walkMessage(bytes, readerOf))
}
