import { inProcessorOrder, littleEndianBytes, maskCrc } from '@cudnn-rnn/checkpoint/files'
import { crc32c } from '../crc32c.js'
import { type CheckpointDType, DTYPES } from './dtype.js'
import { corrupt, damaged } from '../errors.js'
import type { TensorData, WritableTensor } from './tensor.js'
import { pushVarint, VarintReader } from '../table/varint.js'

/**
 * Elements in a data file are raw little-endian values. Strings are stored as all lengths (varints), a masked checksum
 * of the lengths, and the bytes of all strings; the entry's checksum runs over the lengths as 32-bit integers, that
 * checksum, and the bytes. Source: tensorflow/core/util/tensor_bundle/tensor_bundle.cc.
 */
const LENGTHS_CHECKSUM_SIZE = 4

/** The elements in `bytes`, and the checksum if it is not taken over the bytes themselves. */
export function decodeElements(
  name: string,
  dtype: CheckpointDType,
  count: number,
  bytes: Uint8Array,
): { readonly data: TensorData; readonly checksum?: number } {
  const { array, bytes: elementBytes, perElement } = DTYPES[dtype]
  if (array === undefined) return decodeStrings(name, count, bytes)
  // A separate array is aligned; a view into a file in memory may not be (and a Buffer's slice is such a view).
  const isWhole = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength
  const aligned = isWhole ? bytes : new Uint8Array(bytes)
  const length = (aligned.byteLength / elementBytes) * perElement
  const { buffer } = inProcessorOrder(aligned, elementBytes / perElement)
  return { data: new array(buffer as ArrayBuffer, 0, length) }
}

function decodeStrings(name: string, count: number, bytes: Uint8Array) {
  const refusal = (rule: string) => corrupt(`tensor ${name}`, rule, { tensorName: name })
  // Every string takes at least the byte of its length.
  if (count > bytes.length) throw refusal(`${count} strings do not fit into ${bytes.length} bytes`)
  const reader = new VarintReader(bytes)
  const lengths = Array.from({ length: count }, () => reader.next())
  let position = reader.position
  if (position + LENGTHS_CHECKSUM_SIZE > bytes.length) throw refusal('it is too short')
  const stored = new DataView(bytes.buffer, bytes.byteOffset).getUint32(position, true)
  const ofLengths = lengthsChecksum(lengths)
  if (maskCrc(ofLengths) !== stored) {
    throw damaged(`tensor ${name}`, "its lengths' checksum is wrong", { tensorName: name })
  }
  const checksum = crc32c(bytes.subarray(position), ofLengths)
  position += LENGTHS_CHECKSUM_SIZE
  const data = lengths.map((length) => {
    const string = new Uint8Array(bytes.subarray(position, position + length))
    position += length
    return string
  })
  if (position !== bytes.length) throw refusal('its strings do not fill it')
  return { data, checksum }
}

/** The bytes that hold a tensor's elements, and the (unmasked) checksum of its entry. */
export function encodeElements(
  dtype: CheckpointDType,
  data: WritableTensor['data'],
): { bytes: Uint8Array; checksum: number } {
  if (DTYPES[dtype].array !== undefined) {
    const bytes = littleEndianBytes(data as Exclude<WritableTensor['data'], readonly unknown[]>)
    return { bytes, checksum: crc32c(bytes) }
  }
  const strings = (data as readonly (string | Uint8Array)[]).map((value) =>
    typeof value === 'string' ? new TextEncoder().encode(value) : value,
  )
  const lengths: number[] = []
  for (const { length } of strings) pushVarint(lengths, length)
  const ofLengths = lengthsChecksum(strings.map(({ length }) => length))
  const size = strings.reduce((sum, { length }) => sum + length, lengths.length + LENGTHS_CHECKSUM_SIZE)
  const bytes = new Uint8Array(size)
  bytes.set(lengths)
  new DataView(bytes.buffer).setUint32(lengths.length, maskCrc(ofLengths), true)
  let position = lengths.length + LENGTHS_CHECKSUM_SIZE
  for (const string of strings) {
    bytes.set(string, position)
    position += string.length
  }
  return { bytes, checksum: crc32c(bytes.subarray(lengths.length), ofLengths) }
}

/** The checksum of string lengths, each as a 32-bit integer (64-bit beyond that). */
function lengthsChecksum(lengths: readonly number[]): number {
  let checksum = 0
  for (const length of lengths) {
    const wide = length > 0xffffffff
    const view = new DataView(new ArrayBuffer(wide ? 8 : 4))
    if (wide) view.setBigUint64(0, BigInt(length), true)
    else view.setUint32(0, length, true)
    checksum = crc32c(new Uint8Array(view.buffer), checksum)
  }
  return checksum
}
