import type { BinaryReader } from '@bufbuild/protobuf/wire'
import { elementCount } from '@cudnn-rnn/canonical/rules'
import {
  encodeMessage,
  fixed32,
  int32,
  type Members,
  type MessageRows,
  messageOf,
  readMessage,
} from '@cudnn-rnn/checkpoint/files'
import { CheckpointError, corrupt } from '../errors.js'

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

export interface IndexEntry {
  /** TensorFlow's `DataType` number. */
  readonly dtypeId: number
  readonly shape: readonly number[]
  /** A partitioned tensor's slices, each under its own key; empty for a whole tensor. */
  readonly slices: readonly (readonly SliceExtent[])[]
}

/** Value of every other key: BundleEntryProto. */
export interface BundleEntry extends IndexEntry {
  readonly shard: number
  readonly offset: number
  readonly size: number
  /** Masked. */
  readonly crc: number
}

/** The version of files that this package writes, and the version that a reader must have. */
const PRODUCER_VERSION = 1

const HEADER = {
  numShards: [1, int32],
  bigEndian: [2, (reader: BinaryReader) => reader.int32() === 1],
  version: [3, messageOf({ minConsumer: [2, int32] })],
} as const

export function decodeBundleHeader(bytes: Uint8Array): BundleHeader {
  const { numShards = 0, bigEndian = false, version } = decodeMessage(bytes, HEADER)
  return { numShards, bigEndian, minConsumer: version?.minConsumer ?? 0 }
}

export function encodeBundleHeader(numShards: number): Uint8Array {
  return encodeMessage({ 1: numShards, 3: encodeMessage({ 1: PRODUCER_VERSION }) })
}

/** A 64-bit field as a number. Throws `ERR_CHECKPOINT_CORRUPT` unless it is in 0..2^53-1: sizes and offsets are. */
function size(reader: BinaryReader): number {
  const value = reader.int64()
  const number = Number(value)
  if (Number.isSafeInteger(number) && number >= 0) return number
  throw corrupt('a message', `a size is out of range: current value is ${value}`)
}

const DIMENSION = { size: [1, size] } as const
const SHAPE = {
  sizes: [2, (reader: BinaryReader) => readMessage(reader.bytes(), DIMENSION).size ?? 0, 'each'],
  unknownRank: [3, (reader: BinaryReader) => reader.bool()],
} as const

/** TensorShapeProto: dimensions in field 2, their sizes in field 1 of each. A rank that is unknown (field 3) has no tensor. */
export function shapeOf(reader: BinaryReader): number[] {
  const { sizes: shape, unknownRank } = readMessage(reader.bytes(), SHAPE)
  if (!unknownRank && Number.isSafeInteger(elementCount(shape))) return shape
  throw corrupt('a message', `no tensor has the shape [${shape}]`)
}

const SLICE = { extents: [1, messageOf({ start: [1, size], length: [2, size] }), 'each'] } as const

/** TensorSliceProto: one extent per dimension; a missing length means the whole dimension. */
export function sliceOf(reader: BinaryReader): SliceExtent[] {
  const { extents } = readMessage(reader.bytes(), SLICE)
  return extents.map(({ start = 0, length }) => (length === undefined ? undefined : { start, length }))
}

const ENTRY = {
  dtypeId: [1, int32],
  shape: [2, shapeOf],
  shard: [3, int32],
  offset: [4, size],
  size: [5, size],
  crc: [6, (reader: BinaryReader) => reader.fixed32()],
  slices: [7, sliceOf, 'each'],
} as const

export function decodeBundleEntry(bytes: Uint8Array): BundleEntry {
  const { slices, ...given } = decodeMessage(bytes, ENTRY)
  const { dtypeId = 0, shape = [], shard = 0, offset = 0, size = 0, crc = 0 } = given
  return { dtypeId, shape, shard, offset, size, crc, slices }
}

export function encodeBundleEntry({
  dtypeId,
  shape,
  shard,
  offset,
  size,
  crc,
}: Omit<BundleEntry, 'slices'>): Uint8Array {
  const given = (value: number) => (value === 0 ? undefined : value)
  const dimensions = shape.map((size) => encodeMessage({ 1: given(size) }))
  return encodeMessage({
    1: given(dtypeId),
    // TensorFlow writes the shape even of a scalar, whose message is empty.
    2: encodeMessage({ 2: dimensions }),
    3: given(shard),
    4: given(offset),
    5: given(size),
    6: crc === 0 ? undefined : fixed32(crc),
  })
}

/** The members of a message. Throws CheckpointError `ERR_CHECKPOINT_CORRUPT` when the bytes are not a message. */
export function decodeMessage<const Rows extends MessageRows<BinaryReader>>(
  bytes: Uint8Array,
  rows: Rows,
): Members<Rows> {
  return guardedMessage(() => readMessage(bytes, rows))
}

/** The result of `read`; an error of the bytes becomes CheckpointError `ERR_CHECKPOINT_CORRUPT`. */
export function guardedMessage<Result>(read: () => Result): Result {
  try {
    return read()
  } catch (cause) {
    if (cause instanceof CheckpointError) throw cause
    throw corrupt('a message', 'its bytes are damaged', { cause })
  }
}
