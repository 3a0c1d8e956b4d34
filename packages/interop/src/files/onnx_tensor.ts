import { type BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { walkMessage } from '@cudnn-rnn/checkpoint/files'
import { corrupt } from '../errors.js'

/** A whole TensorProto of onnx/onnx.proto: with the elements that onnx_messages.ts leaves in the file. */
export interface OnnxTensorValue {
  readonly dims: readonly number[]
  /** TensorProto.DataType. */
  readonly dataType: number
  readonly raw: Uint8Array | undefined
  readonly floats: Float32Array | undefined
  readonly doubles: Float64Array | undefined
  readonly int64s: readonly number[]
  readonly int32s: readonly number[]
}

/** The message in `bytes`. Throws WeightFileError `ERR_WEIGHTS_CORRUPT`. */
export function decodeOnnxTensor(path: string, bytes: Uint8Array): OnnxTensorValue {
  const dims: number[] = []
  const int64s: number[] = []
  const int32s: number[] = []
  const floats = new Numbers(Float32Array, bytes.length)
  const doubles = new Numbers(Float64Array, bytes.length)
  let dataType = 0
  let raw: Uint8Array | undefined
  const fields: FieldReaders = {
    1: (reader, wire) => list(reader, wire, WireType.Varint, () => dims.push(Number(reader.int64()))),
    2: (reader) => {
      dataType = reader.int32()
    },
    4: (reader, wire) => list(reader, wire, WireType.Bit32, () => floats.push(reader.float())),
    5: (reader, wire) => list(reader, wire, WireType.Varint, () => int32s.push(reader.int32())),
    7: (reader, wire) => list(reader, wire, WireType.Varint, () => int64s.push(Number(reader.int64()))),
    9: (reader) => {
      raw = reader.bytes()
    },
    10: (reader, wire) => list(reader, wire, WireType.Bit64, () => doubles.push(reader.double())),
  }
  decodeFields(path, bytes, fields)
  return { dims, dataType, raw, floats: floats.values, doubles: doubles.values, int64s, int32s }
}

/** The lists of numbers of an AttributeProto, which onnx_messages.ts leaves in the file. Throws as {@link decodeOnnxTensor}. */
export function decodeOnnxLists(
  path: string,
  bytes: Uint8Array,
): { readonly floats: Float32Array; readonly ints: readonly number[] } {
  const floats = new Numbers(Float32Array, bytes.length)
  const ints: number[] = []
  decodeFields(path, bytes, {
    7: (reader, wire) => list(reader, wire, WireType.Bit32, () => floats.push(reader.float())),
    8: (reader, wire) => list(reader, wire, WireType.Varint, () => ints.push(Number(reader.int64()))),
  })
  return { floats: floats.values ?? new Float32Array(), ints }
}

type FieldReaders = Readonly<Record<number, (reader: BinaryReader, wireType: WireType) => void>>

function decodeFields(path: string, bytes: Uint8Array, fields: FieldReaders): void {
  try {
    walkMessage(bytes, (number) => fields[number])
  } catch (cause) {
    throw corrupt(path, 'its ONNX messages are damaged', cause)
  }
}

/** One number, or as many as a packed field holds. */
function list(reader: BinaryReader, wireType: WireType, single: WireType, read: () => void): void {
  if (wireType === single) {
    read()
    return
  }
  const end = reader.uint32() + reader.pos
  if (end > reader.len) throw new RangeError('a packed field is longer than its message')
  while (reader.pos < end) read()
}

/** A list of floating-point numbers that cannot be longer than its message. */
class Numbers<List extends Float32Array | Float64Array> {
  readonly #make: { new (length: number): List; readonly BYTES_PER_ELEMENT: number }
  readonly #most: number
  #list: List | undefined
  #length = 0

  constructor(make: { new (length: number): List; readonly BYTES_PER_ELEMENT: number }, messageBytes: number) {
    this.#make = make
    this.#most = Math.floor(messageBytes / make.BYTES_PER_ELEMENT)
  }

  push(value: number): void {
    this.#list ??= new this.#make(this.#most)
    this.#list[this.#length++] = value
  }

  /** Undefined if there was none. */
  get values(): List | undefined {
    return this.#list?.subarray(0, this.#length) as List | undefined
  }
}
