import { decodeMessage, decodeShape, decodeSlice, type SliceExtent } from './bundle_messages.js'
import type { ByteSource } from './byte_source.js'
import type { CheckpointReader } from './checkpoint_reader.js'
import { type CheckpointDType, DTYPES, dtypeOfId, type NumericArray } from './dtype.js'
import { CheckpointError } from './errors.js'
import { assembleSlices } from './slices.js'
import { readTable } from './table_reader.js'
import { type CheckpointTensor, elementCount, type TensorData } from './tensor.js'
import { decodeTensorProto, type TensorProtoValues } from './tensor_proto.js'

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
  readonly #slices: ReadonlyMap<string, TensorProtoValues>

  private constructor(
    prefix: string,
    metas: ReadonlyMap<string, TensorMeta>,
    slices: ReadonlyMap<string, TensorProtoValues>,
  ) {
    this.prefix = prefix
    this.#metas = metas
    this.#slices = slices
  }

  static async open(prefix: string, source: ByteSource): Promise<CheckpointV1Reader> {
    const metas = new Map<string, TensorMeta>()
    const slices = new Map<string, TensorProtoValues>()
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
      `Cannot read tensor ${name} as its dtype is number ${dtypeId}`,
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
    const part = (slice: readonly SliceExtent[]): TensorData => {
      const values = this.#slices.get(sliceText(name, slice))
      const count = elementCount(slice.map((extent, axis) => extent?.length ?? shape[axis] ?? 0))
      if (values !== undefined && values.length === count * DTYPES[dtype].perElement) return arrayOf(dtype, values)
      throw new CheckpointError(
        'ERR_CHECKPOINT_CORRUPT',
        `Cannot read tensor ${name} as a slice is missing or incomplete`,
        {
          path: this.prefix,
          tensorName: name,
        },
      )
    }
    let stored = 0
    for (const slice of slices) stored += this.#slices.get(sliceText(name, slice))?.length ?? 0
    if (stored !== elementCount(shape) * DTYPES[dtype].perElement) {
      // Checked before memory for the whole tensor is asked for.
      throw new CheckpointError('ERR_CHECKPOINT_CORRUPT', `Cannot read tensor ${name} as its slices do not cover it`, {
        path: this.prefix,
        tensorName: name,
      })
    }
    const whole = slices.length === 1 && slices[0]!.every((extent) => extent === undefined)
    const data = whole
      ? part(slices[0]!)
      : await assembleSlices(name, dtype, shape, slices, async (slice) => part(slice))
    return { data, shape, dtype }
  }

  async close(): Promise<void> {}

  #meta(name: string): TensorMeta {
    const meta = this.#metas.get(name)
    if (meta !== undefined) return meta
    throw new CheckpointError('ERR_TENSOR_NOT_FOUND', `Cannot find tensor ${name} in checkpoint`, {
      path: this.prefix,
      tensorName: name,
    })
  }
}

/** SavedTensorSliceMeta: field 1 SavedSliceMeta { 1 name, 2 shape, 3 type, 4 slice… }. */
function decodeMetas(bytes: Uint8Array, metas: Map<string, TensorMeta>): void {
  decodeMessage(bytes, (field, reader) => {
    if (field !== 1) return false
    const meta = { name: '', dtypeId: 0, shape: [] as number[], slices: [] as SliceExtent[][] }
    decodeMessage(reader.bytes(), (metaField, metaReader) => {
      if (metaField === 1) meta.name = metaReader.string()
      else if (metaField === 2) meta.shape = decodeShape(metaReader.bytes())
      else if (metaField === 3) meta.dtypeId = metaReader.int32()
      else if (metaField === 4) meta.slices.push(decodeSlice(metaReader.bytes()))
      else return false
      return true
    })
    metas.set(meta.name, meta)
    return true
  })
}

/** SavedSlice { 1 name, 2 slice, 3 TensorProto }. */
function decodeSavedSlice(bytes: Uint8Array, slices: Map<string, TensorProtoValues>): void {
  let name = ''
  let slice: SliceExtent[] = []
  let values: TensorProtoValues = []
  decodeMessage(bytes, (field, reader) => {
    if (field === 1) name = reader.string()
    else if (field === 2) slice = decodeSlice(reader.bytes())
    else if (field === 3) values = decodeTensorProto(reader.bytes())
    else return false
    return true
  })
  slices.set(sliceText(name, slice), values)
}

function sliceText(name: string, slice: readonly SliceExtent[]): string {
  return JSON.stringify([name, ...slice.map((extent) => (extent === undefined ? '-' : [extent.start, extent.length]))])
}

function arrayOf(dtype: CheckpointDType, values: TensorProtoValues): TensorData {
  const { array } = DTYPES[dtype]
  if (array === undefined) return values as readonly Uint8Array[]
  const typed: NumericArray = new array(
    new ArrayBuffer((values.length * DTYPES[dtype].bytes) / DTYPES[dtype].perElement),
  )
  const isBig = typed instanceof BigInt64Array || typed instanceof BigUint64Array
  for (const [index, value] of (values as readonly (number | bigint)[]).entries()) {
    typed[index] = (isBig ? BigInt(value) : Number(value)) as never
  }
  return typed
}
