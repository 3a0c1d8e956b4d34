import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { decodeMessage } from './bundle_messages.js'

/** Values of a TensorProto in the order of its elements; complex numbers as real, imaginary. */
export type TensorProtoValues = readonly (number | bigint)[] | readonly Uint8Array[]

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

const STRING_FIELD = 8

/** Reads the values of a TensorProto, packed or not. V1 checkpoints never use its raw `tensor_content`. */
export function decodeTensorProto(bytes: Uint8Array): TensorProtoValues {
  const values: (number | bigint | Uint8Array)[] = []
  decodeMessage(bytes, (field, reader, wireType) => {
    const read = VALUE_FIELDS[field]
    if (read === undefined) return false
    if (field === STRING_FIELD || wireType !== WireType.LengthDelimited) {
      values.push(read(reader))
      return true
    }
    const packed = new BinaryReader(reader.bytes())
    while (packed.pos < packed.len) values.push(read(packed))
    return true
  })
  return values as unknown as TensorProtoValues
}
