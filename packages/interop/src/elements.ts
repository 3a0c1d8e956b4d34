import type { FloatArray } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'
import { bfloat16ToNumber, float16ToNumber, inProcessorOrder } from '@cudnn-rnn/checkpoint/files'
import { corrupt, unsupported } from './errors.js'

/** Bytes of one element and their decoding, in the order of the processor, to float32 or float64. */
interface ElementType {
  readonly bytes: number
  readonly decode?: (bytes: Uint8Array<ArrayBuffer>) => FloatArray
}

/** Element types of weight files under one name each; those without `decode` are not weights. */
export const ELEMENT_TYPES = Object.freeze({
  float64: { bytes: 8, decode: (bytes) => new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8) },
  float32: { bytes: 4, decode: (bytes) => new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4) },
  float16: { bytes: 2, decode: (bytes) => widened(bytes, float16ToNumber) },
  bfloat16: { bytes: 2, decode: (bytes) => widened(bytes, bfloat16ToNumber) },
  int64: { bytes: 8 },
  uint64: { bytes: 8 },
  int32: { bytes: 4 },
  uint32: { bytes: 4 },
  int16: { bytes: 2 },
  uint16: { bytes: 2 },
  int8: { bytes: 1 },
  uint8: { bytes: 1 },
  bool: { bytes: 1 },
} as const satisfies Readonly<Record<string, ElementType>>)

export type ElementTypeName = keyof typeof ELEMENT_TYPES

/**
 * The little-endian elements in `bytes`, copied if they are not aligned.
 *
 * @throws WeightFileError `ERR_WEIGHTS_UNSUPPORTED` for a type that is not floating point
 */
export function decodeElements(path: string, name: string, type: ElementTypeName, bytes: Uint8Array): FloatArray {
  const row: ElementType = ELEMENT_TYPES[type]
  if (row.decode === undefined) throw unsupported(path, `weights are floating point: ${name} holds ${type}`)
  if (bytes.byteLength % row.bytes !== 0) throw corrupt(path, `${name} ends within an element`)
  const isAligned = bytes.byteOffset % row.bytes === 0 && bytes.buffer instanceof ArrayBuffer
  return row.decode(inProcessorOrder(isAligned ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes), row.bytes))
}

/**
 * Product of `shape`, rejecting more elements than a file of this size can hold.
 *
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`
 */
export function checkedCount(path: string, name: string, shape: readonly number[], most: number): number {
  const isShape = shape.every((size) => Number.isSafeInteger(size) && size >= 0)
  const count = elementCount(shape)
  if (isShape && count <= most) return count
  throw corrupt(path, `${name} cannot have shape [${shape.join(',')}]: there is room for ${Math.floor(most)} elements`)
}

function widened(bytes: Uint8Array<ArrayBuffer>, toNumber: (bits: number) => number): Float32Array {
  return Float32Array.from(new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2), toNumber)
}
