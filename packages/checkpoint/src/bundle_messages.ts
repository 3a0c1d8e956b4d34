import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { elementCount } from '@cudnn-rnn/canonical/rules'
import { CheckpointError } from './errors.js'

/**
 * The messages of tensorflow/core/protobuf/tensor_bundle.proto, tensor_shape.proto and tensor_slice.proto, as far as
 * checkpoints use them. proto3: fields that are zero are absent.
 */

/** Value of the empty key: BundleHeaderProto. */
export interface BundleHeader {
  readonly numShards: number
  readonly bigEndian: boolean
  /** Readers older than this must refuse the file. */
  readonly minConsumer: number
}

/** Start and length of one dimension of a slice; undefined is the whole dimension. */
export type SliceExtent = { readonly start: number; readonly length: number } | undefined

/** Value of every other key: BundleEntryProto. */
export interface BundleEntry {
  /** TensorFlow's `DataType` number. */
  readonly dtypeId: number
  readonly shape: readonly number[]
  readonly shard: number
  readonly offset: number
  readonly size: number
  /** Masked. */
  readonly crc: number
  /** A partitioned tensor's slices, each under its own key; empty for a whole tensor. */
  readonly slices: readonly (readonly SliceExtent[])[]
}

/** The version of files that this package writes, and the version that a reader must have. */
const PRODUCER_VERSION = 1

export function decodeBundleHeader(bytes: Uint8Array): BundleHeader {
  let numShards = 0
  let bigEndian = false
  let minConsumer = 0
  decodeMessage(bytes, (field, reader) => {
    if (field === 1) numShards = reader.int32()
    else if (field === 2) bigEndian = reader.int32() === 1
    else if (field === 3) {
      decodeMessage(reader.bytes(), (versionField, version) => {
        if (versionField !== 2) return false
        minConsumer = version.int32()
        return true
      })
    } else return false
    return true
  })
  return { numShards, bigEndian, minConsumer }
}

export function encodeBundleHeader(numShards: number): Uint8Array {
  const version = new BinaryWriter().tag(1, WireType.Varint).int32(PRODUCER_VERSION).finish()
  return new BinaryWriter()
    .tag(1, WireType.Varint)
    .int32(numShards)
    .tag(3, WireType.LengthDelimited)
    .bytes(version)
    .finish()
}

export function decodeBundleEntry(bytes: Uint8Array): BundleEntry {
  const entry = {
    dtypeId: 0,
    shape: [] as number[],
    shard: 0,
    offset: 0,
    size: 0,
    crc: 0,
    slices: [] as SliceExtent[][],
  }
  decodeMessage(bytes, (field, reader) => {
    if (field === 1) entry.dtypeId = reader.int32()
    else if (field === 2) entry.shape = decodeShape(reader.bytes())
    else if (field === 3) entry.shard = reader.int32()
    else if (field === 4) entry.offset = toNumber(reader.int64())
    else if (field === 5) entry.size = toNumber(reader.int64())
    else if (field === 6) entry.crc = reader.fixed32()
    else if (field === 7) entry.slices.push(decodeSlice(reader.bytes()))
    else return false
    return true
  })
  return entry
}

export function encodeBundleEntry(entry: Omit<BundleEntry, 'slices'>): Uint8Array {
  const writer = new BinaryWriter()
  const varint = (field: number, value: number) => {
    if (value !== 0) writer.tag(field, WireType.Varint).int64(value)
  }
  varint(1, entry.dtypeId)
  // TensorFlow writes the shape even of a scalar, whose message is empty.
  writer.tag(2, WireType.LengthDelimited).bytes(encodeShape(entry.shape))
  varint(3, entry.shard)
  varint(4, entry.offset)
  varint(5, entry.size)
  if (entry.crc !== 0) writer.tag(6, WireType.Bit32).fixed32(entry.crc)
  return writer.finish()
}

/** TensorShapeProto: dimensions in field 2, their sizes in field 1 of each. A rank that is unknown (field 3) has no tensor. */
export function decodeShape(bytes: Uint8Array): number[] {
  const shape: number[] = []
  let unknownRank = false
  decodeMessage(bytes, (field, reader) => {
    if (field === 3) unknownRank = reader.bool()
    if (field !== 2) return field === 3
    let size = 0
    decodeMessage(reader.bytes(), (dimensionField, dimension) => {
      if (dimensionField !== 1) return false
      size = toNumber(dimension.int64())
      return true
    })
    shape.push(size)
    return true
  })
  if (unknownRank || !Number.isSafeInteger(elementCount(shape)))
    throw new CheckpointError('ERR_CHECKPOINT_CORRUPT', `Cannot read a message as no tensor has the shape [${shape}]`)
  return shape
}

function encodeShape(shape: readonly number[]): Uint8Array {
  const writer = new BinaryWriter()
  for (const size of shape) {
    const dimension = new BinaryWriter()
    if (size !== 0) dimension.tag(1, WireType.Varint).int64(size)
    writer.tag(2, WireType.LengthDelimited).bytes(dimension.finish())
  }
  return writer.finish()
}

/** TensorSliceProto: one extent per dimension; a missing length means the whole dimension. */
export function decodeSlice(bytes: Uint8Array): SliceExtent[] {
  const extents: SliceExtent[] = []
  decodeMessage(bytes, (field, reader) => {
    if (field !== 1) return false
    let start = 0
    let length: number | undefined
    decodeMessage(reader.bytes(), (extentField, extent) => {
      if (extentField === 1) start = toNumber(extent.int64())
      else if (extentField === 2) length = toNumber(extent.int64())
      else return false
      return true
    })
    extents.push(length === undefined ? undefined : { start, length })
    return true
  })
  return extents
}

/**
 * Walks the fields of a message; `visit` consumes the value of a known field and returns whether it did.
 *
 * @throws CheckpointError `ERR_CHECKPOINT_CORRUPT` when the bytes are not a message
 */
export function decodeMessage(
  bytes: Uint8Array,
  visit: (field: number, reader: BinaryReader, wireType: WireType) => boolean,
): void {
  try {
    const reader = new BinaryReader(bytes)
    while (reader.pos < reader.len) {
      const [field, wireType] = reader.tag()
      if (!visit(field, reader, wireType)) reader.skip(wireType, field)
    }
    if (reader.pos !== reader.len) throw new RangeError('a field is longer than its message')
  } catch (cause) {
    if (cause instanceof CheckpointError) throw cause
    throw new CheckpointError('ERR_CHECKPOINT_CORRUPT', 'Cannot read a message as its bytes are damaged', { cause })
  }
}

/** A 64-bit field as a number. Throws `ERR_CHECKPOINT_CORRUPT` unless it is in 0..2^53-1: sizes and offsets are. */
function toNumber(value: bigint | string): number {
  const number = Number(value)
  if (Number.isSafeInteger(number) && number >= 0) return number
  throw new CheckpointError(
    'ERR_CHECKPOINT_CORRUPT',
    `Cannot read a message as a size is out of range: current value is ${value}`,
  )
}
