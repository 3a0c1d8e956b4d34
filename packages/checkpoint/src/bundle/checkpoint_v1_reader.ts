import type { BinaryReader } from '@bufbuild/protobuf/wire'
import { elementCount } from '@cudnn-rnn/canonical/rules'
import { int32, type Members, messageOf, readMessage } from '@cudnn-rnn/checkpoint/files'
import { decodeMessage, type IndexEntry, type SliceExtent, shapeOf, sliceOf } from './bundle_messages.js'
import { DTYPES } from './dtype.js'
import { LONGEST_NAME } from './entry_ranges.js'
import { type CheckpointError, corrupt } from '../errors.js'
import { IndexedReader } from './indexed_reader.js'
import { assembleSlices } from './slices.js'
import type { TableEntry } from '../table/table_reader.js'
import type { CheckpointTensor, TensorData } from './tensor.js'
import { decodeName } from './tensor_name.js'
import { countValues, decodeTensorProto } from './tensor_proto.js'

/**
 * Reads TensorFlow's checkpoint format V1: one sorted table whose empty key lists all tensors (SavedTensorSliceMeta) and
 * whose other keys hold their slices (SavedSlice, the elements as a TensorProto). Blocks are usually snappy-compressed.
 * Source: tensorflow/core/util/saved_tensor_slice.proto.
 */
export class CheckpointV1Reader extends IndexedReader<IndexEntry> {
  readonly format = 'v1'
  /** TensorProtos as they are in the file. */
  readonly #slices: ReadonlyMap<string, Uint8Array>

  private constructor(prefix: string, metas: ReadonlyMap<string, IndexEntry>, slices: ReadonlyMap<string, Uint8Array>) {
    super(prefix, metas)
    this.#slices = slices
  }

  /** Reads one table, or the tables of all shards: a partitioned tensor is in several, with different slices. */
  static of(prefix: string, tables: readonly TableEntry[][]): CheckpointV1Reader {
    const metas = new Map<string, IndexEntry>()
    const slices = new Map<string, Uint8Array>()
    for (const table of tables) {
      const own = new Map<string, IndexEntry>()
      // SavedTensorSlices: field 1 SavedTensorSliceMeta, of the empty key alone, whose field 1 is a meta; field 2 a slice.
      const saved = {
        slice: [2, (reader: BinaryReader) => addSlice(slices, readMessage(reader.bytes(), SLICE))],
      } as const
      const listing = {
        ...saved,
        list: [1, messageOf({ meta: [1, (reader) => addMeta(own, readMessage(reader.bytes(), META))] })],
      } as const
      for (const { key, value } of table) decodeMessage(value, key.length === 0 ? listing : saved)
      for (const [name, entry] of own) metas.set(name, joined(name, metas.get(name), entry))
    }
    if (metas.size === 0) throw corrupt('checkpoint', 'it lists no tensors', { path: prefix })
    return new CheckpointV1Reader(prefix, metas, slices)
  }

  override names(): string[] {
    return super.names().sort()
  }

  byteLength(name: string): number {
    return elementCount(this.shape(name)) * DTYPES[this.dtype(name)].bytes
  }

  async read(name: string): Promise<CheckpointTensor> {
    const { shape, slices } = this.entry(name)
    const dtype = this.dtype(name)
    // Every slice has its own values in the file: only then may memory for the whole tensor be requested.
    const distinct = new Set(slices.map((slice) => JSON.stringify(slice)))
    if (distinct.size !== slices.length) throw this.corrupt(name, 'it names a slice twice')
    if (slices.length > this.#slices.size) throw this.corrupt(name, 'it has more slices than there are')
    let values = 0
    for (const slice of slices) {
      values += countValues(this.#slices.get(sliceText(name, slice)) ?? new Uint8Array(0))
    }
    if (values !== elementCount(shape) * DTYPES[dtype].perElement)
      throw this.corrupt(name, 'its slices do not cover it')
    const part = (slice: readonly SliceExtent[]): TensorData => {
      const stored = this.#slices.get(sliceText(name, slice))
      const count = elementCount(slice.map((extent, axis) => extent?.length ?? shape[axis] ?? 0))
      const data = stored === undefined ? undefined : decodeTensorProto(dtype, stored)
      if (data?.length === count * DTYPES[dtype].perElement) return data
      throw this.corrupt(name, 'a slice is missing or incomplete')
    }
    const [only] = slices
    const isWhole = slices.length === 1 && only?.every((extent) => extent === undefined) === true
    const data = isWhole ? part(only) : await assembleSlices(name, dtype, shape, slices, async (slice) => part(slice))
    return { data, shape, dtype }
  }
}

const name = (reader: BinaryReader) => decodeName(reader.bytes())
/** SavedSliceMeta. */
const META = { name: [1, name], shape: [2, shapeOf], dtypeId: [3, int32], slices: [4, sliceOf, 'each'] } as const
/** SavedSlice, with a TensorProto. */
const SLICE = { name: [1, name], slice: [2, sliceOf], values: [3, (reader: BinaryReader) => reader.bytes()] } as const

function addMeta(metas: Map<string, IndexEntry>, meta: Members<typeof META>): void {
  const { name = '', shape = [], dtypeId = 0, slices } = meta
  if (name.length > LONGEST_NAME) throw corrupt('checkpoint', `a name in it has ${name.length} characters`)
  if (metas.has(name)) throw twice(name)
  metas.set(name, { shape, dtypeId, slices })
}

/** A tensor with the slices of one more shard. */
function joined(name: string, others: IndexEntry | undefined, entry: IndexEntry): IndexEntry {
  if (others === undefined) return entry
  if (others.dtypeId !== entry.dtypeId || String(others.shape) !== String(entry.shape)) throw twice(name)
  return { ...entry, slices: [...others.slices, ...entry.slices] }
}

function addSlice(slices: Map<string, Uint8Array>, saved: Members<typeof SLICE>): void {
  const { name = '', slice = [], values = new Uint8Array() } = saved
  const key = sliceText(name, slice)
  if (slices.has(key)) throw twice(name)
  slices.set(key, values)
}

function twice(tensorName: string): CheckpointError {
  return corrupt('checkpoint', `it holds tensor ${tensorName} or a slice of it twice`, { tensorName })
}

function sliceText(name: string, slice: readonly SliceExtent[]): string {
  return JSON.stringify([name, ...slice.map((extent) => (extent === undefined ? '-' : [extent.start, extent.length]))])
}
