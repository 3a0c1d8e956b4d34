import { describeValue, elementCount } from '@cudnn-rnn/canonical/rules'
import { decodeMessage, decodeShape, decodeSlice, type SliceExtent } from './bundle_messages.js'
import type { ByteSource } from './byte_source.js'
import type { CheckpointReader } from './checkpoint_reader.js'
import { type CheckpointDType, DTYPES, dtypeOfId } from './dtype.js'
import { LONGEST_NAME } from './entry_ranges.js'
import { CheckpointError } from './errors.js'
import { assembleSlices } from './slices.js'
import { readTable } from './table_reader.js'
import type { CheckpointTensor, TensorData } from './tensor.js'
import { decodeName } from './tensor_name.js'
import { countValues, decodeTensorProto } from './tensor_proto.js'

interface TensorMeta {
  readonly dtypeId: number
  readonly shape: readonly number[]
  readonly slices: readonly (readonly SliceExtent[])[]
}

/**
 * Reads TensorFlow's checkpoint format V1: one sorted table whose empty key lists all tensors (SavedTensorSliceMeta) and
 * whose other keys hold their slices (SavedSlice, the elements as a TensorProto). Blocks are usually snappy-compressed.
 * Source: tensorflow/core/util/saved_tensor_slice.proto.
 */
export class CheckpointV1Reader implements CheckpointReader {
  readonly format = 'v1'
  readonly prefix: string
  readonly #metas: ReadonlyMap<string, TensorMeta>
  /** TensorProtos as they are in the file. */
  readonly #slices: ReadonlyMap<string, Uint8Array>

  private constructor(prefix: string, metas: ReadonlyMap<string, TensorMeta>, slices: ReadonlyMap<string, Uint8Array>) {
    this.prefix = prefix
    this.#metas = metas
    this.#slices = slices
  }

  static async open(prefix: string, source: ByteSource): Promise<CheckpointV1Reader> {
    const metas = new Map<string, TensorMeta>()
    const slices = new Map<string, Uint8Array>()
    for (const { key, value } of await readTable(source)) {
      // SavedTensorSlices: field 1 meta, field 2 data.
      decodeMessage(value, (field, reader) => {
        if (field === 1 && key.length === 0) decodeMetas(reader.bytes(), metas)
        else if (field === 2) decodeSavedSlice(reader.bytes(), slices)
        else return false
        return true
      })
    }
    if (metas.size === 0) {
      throw new CheckpointError('ERR_CHECKPOINT_CORRUPT', 'Cannot read checkpoint as it lists no tensors', {
        path: prefix,
      })
    }
    return new CheckpointV1Reader(prefix, metas, slices)
  }

  names(): string[] {
    return [...this.#metas.keys()].sort()
  }

  has(name: string): boolean {
    return this.#metas.has(name)
  }

  shape(name: string): readonly number[] {
    return this.#meta(name).shape
  }

  dtype(name: string): CheckpointDType {
    const { dtypeId } = this.#meta(name)
    const dtype = dtypeOfId(dtypeId)
    if (dtype !== undefined) return dtype
    throw new CheckpointError(
      'ERR_CHECKPOINT_UNSUPPORTED',
      `Cannot read tensor ${name} as its dtype must be a number, bool or string type: current value is TensorFlow's dtype ${dtypeId}`,
      {
        path: this.prefix,
        tensorName: name,
      },
    )
  }

  byteLength(name: string): number {
    return elementCount(this.shape(name)) * DTYPES[this.dtype(name)].bytes
  }

  async read(name: string): Promise<CheckpointTensor> {
    const { shape, slices } = this.#meta(name)
    const dtype = this.dtype(name)
    // Every slice has its own values in the file: only then may memory for the whole tensor be requested.
    const distinct = new Set(slices.map((slice) => JSON.stringify(slice)))
    if (distinct.size !== slices.length) throw this.#corrupt(name, 'it names a slice twice')
    if (slices.length > this.#slices.size) throw this.#corrupt(name, 'it has more slices than there are')
    let values = 0
    for (const slice of slices) {
      values += countValues(this.#slices.get(sliceText(name, slice)) ?? new Uint8Array(0))
    }
    if (values !== elementCount(shape) * DTYPES[dtype].perElement)
      throw this.#corrupt(name, 'its slices do not cover it')
    const part = (slice: readonly SliceExtent[]): TensorData => {
      const stored = this.#slices.get(sliceText(name, slice))
      const count = elementCount(slice.map((extent, axis) => extent?.length ?? shape[axis] ?? 0))
      const data = stored === undefined ? undefined : decodeTensorProto(dtype, stored)
      if (data?.length === count * DTYPES[dtype].perElement) return data
      throw this.#corrupt(name, 'a slice is missing or incomplete')
    }
    const [only] = slices
    const isWhole = slices.length === 1 && only?.every((extent) => extent === undefined) === true
    const data = isWhole ? part(only) : await assembleSlices(name, dtype, shape, slices, async (slice) => part(slice))
    return { data, shape, dtype }
  }

  async close(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}

  [Symbol.dispose](): void {}

  #corrupt(name: string, rule: string): CheckpointError {
    return new CheckpointError('ERR_CHECKPOINT_CORRUPT', `Cannot read tensor ${name} as ${rule}`, {
      path: this.prefix,
      tensorName: name,
    })
  }

  #meta(name: string): TensorMeta {
    const meta = this.#metas.get(name)
    if (meta !== undefined) return meta
    throw new CheckpointError(
      'ERR_TENSOR_NOT_FOUND',
      `Cannot find tensor ${describeValue(name)} in checkpoint (names() lists its tensors)`,
      {
        path: this.prefix,
        tensorName: name,
      },
    )
  }
}

/** SavedTensorSliceMeta: field 1 SavedSliceMeta { 1 name, 2 shape, 3 type, 4 slice… }. */
function decodeMetas(bytes: Uint8Array, metas: Map<string, TensorMeta>): void {
  decodeMessage(bytes, (field, reader) => {
    if (field !== 1) return false
    const meta = { name: '', dtypeId: 0, shape: [] as number[], slices: [] as SliceExtent[][] }
    decodeMessage(reader.bytes(), (metaField, metaReader) => {
      if (metaField === 1) meta.name = decodeName(metaReader.bytes())
      else if (metaField === 2) meta.shape = decodeShape(metaReader.bytes())
      else if (metaField === 3) meta.dtypeId = metaReader.int32()
      else if (metaField === 4) meta.slices.push(decodeSlice(metaReader.bytes()))
      else return false
      return true
    })
    if (meta.name.length > LONGEST_NAME) throw tooLong(meta.name)
    if (metas.has(meta.name)) throw twice(meta.name)
    metas.set(meta.name, meta)
    return true
  })
}

/** SavedSlice { 1 name, 2 slice, 3 TensorProto }. */
function decodeSavedSlice(bytes: Uint8Array, slices: Map<string, Uint8Array>): void {
  let name = ''
  let slice: SliceExtent[] = []
  let values = new Uint8Array(0)
  decodeMessage(bytes, (field, reader) => {
    if (field === 1) name = decodeName(reader.bytes())
    else if (field === 2) slice = decodeSlice(reader.bytes())
    else if (field === 3) values = reader.bytes() as Uint8Array<ArrayBuffer>
    else return false
    return true
  })
  const key = sliceText(name, slice)
  if (slices.has(key)) throw twice(name)
  slices.set(key, values)
}

function tooLong(tensorName: string): CheckpointError {
  const message = `Cannot read checkpoint as a name in it has ${tensorName.length} characters`
  return new CheckpointError('ERR_CHECKPOINT_CORRUPT', message)
}

function twice(tensorName: string): CheckpointError {
  const message = `Cannot read checkpoint as it holds tensor ${tensorName} or a slice of it twice`
  return new CheckpointError('ERR_CHECKPOINT_CORRUPT', message, { tensorName })
}

function sliceText(name: string, slice: readonly SliceExtent[]): string {
  return JSON.stringify([name, ...slice.map((extent) => (extent === undefined ? '-' : [extent.start, extent.length]))])
}
