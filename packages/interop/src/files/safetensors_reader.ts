import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { type Json, jsonRecord } from '@cudnn-rnn/canonical/rules'
import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { littleEndianBytes } from '@cudnn-rnn/checkpoint/files'
import { checkBytes, decodeElements, elementTypeOf } from '../elements.js'
import { corrupt } from '../errors.js'
import type { ListedTensor, StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'
import { parseBoundedJson } from './bounded_json.js'
import { TensorList } from './tensor_list.js'

/**
 * A safetensors file: u64 length of the header, the header as JSON, and one block of raw little-endian elements in which
 * the header's `data_offsets` count. The tensors fill the block without overlaps and gaps, which the format requires and
 * its own reader checks. Source: the format's README and `Metadata::validate` at huggingface/safetensors.
 */
const LENGTH_BYTES = 8

/** The limit of the format's own reader. */
const LONGEST_HEADER = 100_000_000

/** A header is a map of maps with lists of numbers. */
const HEADER_LIMITS = { depth: 3, values: 2 ** 21 }

interface HeaderEntry extends ListedTensor {
  readonly begin: number
  readonly end: number
}

/** Opens a safetensors file; only the header is read. Throws WeightFileError `ERR_WEIGHTS_CORRUPT`. */
export async function openSafetensors(source: ByteSource): Promise<WeightFile> {
  const { name: path, size } = source
  if (size < LENGTH_BYTES) throw corrupt(path, 'it has no header')
  const prefix = await source.read(0, LENGTH_BYTES)
  const length = new DataView(prefix.buffer, prefix.byteOffset).getBigUint64(0, true)
  if (length > BigInt(Math.min(size - LENGTH_BYTES, LONGEST_HEADER))) {
    throw corrupt(path, `its header of ${length} bytes does not fit into it, or has more than ${LONGEST_HEADER}`)
  }
  const text = await source.read(LENGTH_BYTES, Number(length))
  const header = jsonRecord(parseBoundedJson(path, 'its header', text, HEADER_LIMITS))
  if (header === undefined) throw corrupt(path, 'its header is not an object')
  const start = LENGTH_BYTES + Number(length)
  const entries = Object.entries(header)
    .filter(([name]) => name !== '__metadata__')
    .map(([name, entry]) => checkedEntry(path, name, entry, size - start))
  checkCoverage(path, entries, size - start)
  const list = new TensorList(path, size)
  for (const entry of entries) list.add(storedTensor(source, start, entry))
  return { format: 'safetensors', path, heldBytes: size, tensors: list.tensors, close: () => source.close() }
}

function checkedEntry(path: string, name: string, entry: unknown, room: number): HeaderEntry {
  const { dtype, shape, data_offsets: offsets } = (entry ?? {}) as Json
  if (typeof dtype !== 'string' || !isIntegers(shape) || !isIntegers(offsets) || offsets.length !== 2) {
    throw corrupt(path, `the header's entry of ${name} is not a tensor`)
  }
  const [begin, end] = offsets as [number, number]
  if (!(begin >= 0 && begin <= end && end <= room)) {
    throw corrupt(path, `${name} is at ${begin}..${end} of ${room} bytes`)
  }
  const type = elementTypeOf('safetensors', dtype)
  if (type !== undefined) checkBytes(path, name, type, shape, end - begin, room)
  return { name, dtype, shape, begin, end }
}

/** Throws unless the tensors follow each other from the first byte to the last. */
function checkCoverage(path: string, entries: readonly HeaderEntry[], room: number): void {
  let end = 0
  for (const entry of entries.toSorted((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (entry.begin !== end) {
      throw corrupt(path, `${entry.name} at ${entry.begin} must begin where the tensor before it ends, at ${end}`)
    }
    end = entry.end
  }
  if (end !== room) throw corrupt(path, `its tensors end at ${end} of ${room} bytes`)
}

function storedTensor(
  source: ByteSource,
  start: number,
  { name, dtype, shape, begin, end }: HeaderEntry,
): StoredTensor {
  const type = elementTypeOf('safetensors', dtype) ?? 'uint8'
  const read = async () => decodeElements(source.name, name, type, await source.read(start + begin, end - begin))
  return { name, shape, dtype, read }
}

function isIntegers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item))
}

/** Data starts at a multiple of this, as the reference implementation writes it. */
const ALIGNMENT = 8

/** A safetensors file of float tensors, in the order given; the layout is described in safetensors_reader.ts. */
export function encodeSafetensors(tensors: Readonly<Record<string, Tensor<FloatArray>>>): Uint8Array {
  let end = 0
  const entries = Object.entries(tensors).map(([name, { data, shape }]) => {
    const begin = end
    end += data.byteLength
    const dtype = data instanceof Float64Array ? 'F64' : 'F32'
    return { name, data, begin, header: { dtype, shape, data_offsets: [begin, end] } }
  })
  const json = JSON.stringify(Object.fromEntries(entries.map(({ name, header }) => [name, header])))
  const text = new TextEncoder().encode(json)
  const headerLength = Math.ceil(text.length / ALIGNMENT) * ALIGNMENT
  const file = new Uint8Array(8 + headerLength + end).fill(0x20, 8, 8 + headerLength)
  new DataView(file.buffer).setBigUint64(0, BigInt(headerLength), true)
  file.set(text, 8)
  for (const { data, begin } of entries) {
    file.set(littleEndianBytes(data), 8 + headerLength + begin)
  }
  return file
}
