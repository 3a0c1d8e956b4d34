import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { checkedCount, decodeElements, ELEMENT_TYPES, type ElementTypeName } from '../elements.js'
import { corrupt } from '../errors.js'
import type { StoredTensor, WeightFile } from '../weight_file.js'

/**
 * A safetensors file: u64 length of the header, the header as JSON, and one block of raw little-endian elements in which
 * the header's `data_offsets` count. Source: the format's README at huggingface/safetensors.
 */
const LENGTH_BYTES = 8

/** Element types by the format's names; others are listed and not read. */
const DTYPES: Readonly<Record<string, ElementTypeName>> = {
  F64: 'float64',
  F32: 'float32',
  F16: 'float16',
  BF16: 'bfloat16',
  I64: 'int64',
  I32: 'int32',
  I16: 'int16',
  I8: 'int8',
  U8: 'uint8',
  BOOL: 'bool',
}

/** Opens a safetensors file; only the header is read. Throws WeightFileError `ERR_WEIGHTS_CORRUPT`. */
export async function openSafetensors(source: ByteSource): Promise<WeightFile> {
  const { name: path, size } = source
  if (size < LENGTH_BYTES) throw corrupt(path, 'it has no header')
  const prefix = await source.read(0, LENGTH_BYTES)
  const length = new DataView(prefix.buffer, prefix.byteOffset).getBigUint64(0, true)
  if (length > BigInt(size - LENGTH_BYTES)) throw corrupt(path, `its header of ${length} bytes does not fit into it`)
  const header = parseHeader(path, await source.read(LENGTH_BYTES, Number(length)))
  const start = LENGTH_BYTES + Number(length)
  const tensors = Object.entries(header)
    .filter(([name]) => name !== '__metadata__')
    .map(([name, entry]) => storedTensor(source, start, name, entry))
  return { format: 'safetensors', path, tensors, close: () => source.close() }
}

function parseHeader(path: string, bytes: Uint8Array): Record<string, unknown> {
  try {
    const header: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    if (typeof header === 'object' && header !== null && !Array.isArray(header))
      return header as Record<string, unknown>
  } catch (cause) {
    throw corrupt(path, 'its header is not JSON', cause)
  }
  throw corrupt(path, 'its header is not an object')
}

function storedTensor(source: ByteSource, start: number, name: string, entry: unknown): StoredTensor {
  const { dtype, shape, data_offsets: offsets } = (entry ?? {}) as Record<string, unknown>
  const path = source.name
  if (typeof dtype !== 'string' || !isIntegers(shape) || !isIntegers(offsets) || offsets.length !== 2) {
    throw corrupt(path, `the header's entry of ${name} is not a tensor`)
  }
  const [begin, end] = offsets as [number, number]
  if (!(begin >= 0 && begin <= end && start + end <= source.size)) {
    throw corrupt(path, `${name} lies at ${begin}..${end} of ${source.size - start} bytes`)
  }
  const type = DTYPES[dtype]
  if (type !== undefined) {
    const { bytes } = ELEMENT_TYPES[type]
    const count = checkedCount(path, name, shape, source.size / bytes)
    if (count * bytes !== end - begin) throw corrupt(path, `${name} of shape [${shape}] has ${end - begin} bytes`)
  }
  return {
    name,
    shape,
    dtype,
    read: async () => decodeElements(path, name, type ?? 'uint8', await source.read(start + begin, end - begin)),
  }
}

function isIntegers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item))
}
