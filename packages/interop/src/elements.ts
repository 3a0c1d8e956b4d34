import type { FloatArray } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'
import { bfloat16ToNumber, float16ToNumber, inProcessorOrder } from '@cudnn-rnn/checkpoint/files'
import { corrupt, unsupported } from './errors.js'
import type { Elements } from './files/strided_elements.js'

/** An element type, and its names in the formats that have it. */
interface ElementType {
  readonly bytes: number
  /** The letter of Python's `struct`. */
  readonly hdf5?: string
  readonly safetensors?: string
  /** The letters of NumPy's `descr`, after the byte order. */
  readonly npy?: string
  /** The class of PyTorch's storages. */
  readonly torch?: string
  /** TensorProto.DataType. */
  readonly onnx: number
  /** The array of elements in memory: float64 for integers of 64 bits, of which shapes need 53. */
  readonly array?: new (
    source: number | Iterable<number> | ArrayBuffer,
  ) => Elements
  /** The number that two stored bytes stand for. */
  readonly toNumber?: ToNumber
}

/** Declarations name this type and not the functions, as those of their package need the types of Node.js. */
type ToNumber = (bits: number) => number

/** Element types of weight files under one name each. */
export const ELEMENT_TYPES = Object.freeze({
  float64: {
    ...{ bytes: 8, hdf5: 'd', safetensors: 'F64', npy: 'f8', torch: 'DoubleStorage', onnx: 11 },
    array: Float64Array,
  },
  float32: { bytes: 4, hdf5: 'f', safetensors: 'F32', npy: 'f4', torch: 'FloatStorage', onnx: 1, array: Float32Array },
  float16: {
    ...{ bytes: 2, hdf5: 'e', safetensors: 'F16', npy: 'f2', torch: 'HalfStorage', onnx: 10 },
    ...{ array: Float32Array, toNumber: float16ToNumber as ToNumber },
  },
  bfloat16: {
    ...{ bytes: 2, safetensors: 'BF16', torch: 'BFloat16Storage', onnx: 16 },
    ...{ array: Float32Array, toNumber: bfloat16ToNumber as ToNumber },
  },
  int64: { bytes: 8, hdf5: 'q', safetensors: 'I64', npy: 'i8', torch: 'LongStorage', onnx: 7, array: Float64Array },
  uint64: { bytes: 8, hdf5: 'Q', npy: 'u8', onnx: 13 },
  int32: { bytes: 4, hdf5: 'i', safetensors: 'I32', npy: 'i4', torch: 'IntStorage', onnx: 6, array: Int32Array },
  uint32: { bytes: 4, hdf5: 'I', npy: 'u4', onnx: 12 },
  int16: { bytes: 2, hdf5: 'h', safetensors: 'I16', npy: 'i2', torch: 'ShortStorage', onnx: 5, array: Int16Array },
  uint16: { bytes: 2, hdf5: 'H', npy: 'u2', onnx: 4, array: Uint16Array },
  int8: { bytes: 1, hdf5: 'b', safetensors: 'I8', npy: 'i1', torch: 'CharStorage', onnx: 3, array: Int8Array },
  uint8: { bytes: 1, hdf5: 'B', safetensors: 'U8', npy: 'u1', torch: 'ByteStorage', onnx: 2, array: Uint8Array },
  bool: { bytes: 1, safetensors: 'BOOL', npy: 'b1', torch: 'BoolStorage', onnx: 9, array: Uint8Array },
} satisfies Readonly<Record<string, ElementType>>)

export type ElementTypeName = keyof typeof ELEMENT_TYPES

/** The element type that a format calls so; undefined for one whose tensors are listed and not read. */
export function elementTypeOf(
  format: 'hdf5' | 'safetensors' | 'npy' | 'torch' | 'onnx',
  name: string | number,
): ElementTypeName | undefined {
  const rows = Object.entries<ElementType>(ELEMENT_TYPES)
  return rows.find(([, row]) => row[format] === name)?.[0] as ElementTypeName | undefined
}

/** Whether weights can be of a type. */
export function isFloat(type: ElementTypeName): boolean {
  return type.includes('float')
}

/** The array of elements of `type`; undefined for a type that is not computed with. */
export function arrayOf(type: ElementTypeName): ElementType['array'] {
  return (ELEMENT_TYPES[type] as ElementType | undefined)?.array
}

/** Zeros of `type`; undefined as in {@link arrayOf}. */
export function newElements(type: ElementTypeName, length: number): Elements | undefined {
  const array = arrayOf(type)
  return array && new array(length)
}

/**
 * The little-endian elements in `bytes`, copied if they are not aligned.
 *
 * @throws WeightFileError `ERR_WEIGHTS_UNSUPPORTED` for a type that is not floating point
 */
export function decodeElements(path: string, name: string, type: ElementTypeName, bytes: Uint8Array): FloatArray {
  const { bytes: size, toNumber }: ElementType = ELEMENT_TYPES[type]
  if (!isFloat(type)) throw unsupported(path, `weights are floating point: ${name} holds ${type}`)
  if (bytes.byteLength % size !== 0) throw corrupt(path, `${name} ends within an element`)
  const isAligned = bytes.byteOffset % size === 0 && bytes.buffer instanceof ArrayBuffer
  const aligned = isAligned ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes)
  const { buffer, byteOffset, byteLength } = inProcessorOrder(aligned, size)
  if (toNumber !== undefined) return Float32Array.from(new Uint16Array(buffer, byteOffset, byteLength / 2), toNumber)
  return new (type === 'float64' ? Float64Array : Float32Array)(buffer, byteOffset, byteLength / size)
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

/**
 * Throws WeightFileError `ERR_WEIGHTS_CORRUPT` unless a tensor takes all of its `bytes`.
 *
 * @param room bytes of all tensors.
 */
export function checkBytes(
  path: string,
  name: string,
  type: ElementTypeName,
  shape: readonly number[],
  bytes: number,
  room = bytes,
): void {
  const { bytes: size } = ELEMENT_TYPES[type]
  if (checkedCount(path, name, shape, room / size) * size === bytes) return
  throw corrupt(path, `${name} of shape [${shape}] has ${bytes} bytes`)
}
