import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { littleEndianBytes, swappedBytes } from '@cudnn-rnn/checkpoint/files'
import { checkedCount, decodeElements, ELEMENT_TYPES, elementTypeOf } from '../elements.js'
import { corrupt, unsupported } from '../errors.js'
import { stridedElements } from './strided_elements.js'

/**
 * One `.npy` array: the magic, a version, the length of a header that is the text of a Python dict with `descr`,
 * `fortran_order` and `shape`, and the elements. Source: numpy/lib/format.py.
 */
const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]

/** Characters of a header that a message shows. */
const LONGEST_SHOWN = 200

/** Arrays start at a multiple of this, as NumPy writes them. */
const ALIGNMENT = 64

/** A decoded array; its elements are converted when they are requested. */
interface NpyArray {
  readonly shape: readonly number[]
  readonly dtype: string
  elements(): FloatArray
}

/** Throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED`. */
export function decodeNpy(path: string, name: string, bytes: Uint8Array): NpyArray {
  if (bytes.length < 10 || !MAGIC.every((byte, index) => bytes[index] === byte)) {
    throw corrupt(path, `${name} does not begin as a NumPy array`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const isShort = bytes[6] === 1
  const headerStart = isShort ? 10 : 12
  if (bytes.length < headerStart) throw corrupt(path, `the header of ${name} is cut`)
  const start = headerStart + (isShort ? view.getUint16(8, true) : view.getUint32(8, true))
  if (start > bytes.length) throw corrupt(path, `the header of ${name} is cut`)
  const header = new TextDecoder('latin1').decode(bytes.subarray(headerStart, start))
  const [, byteOrder, letters] = /'descr':\s*'([<>|=])([a-z]\d+)'/.exec(header) ?? []
  const [, tuple] = /'shape':\s*\(([\dL,\s]*)\)/.exec(header) ?? []
  const [, fortranOrder] = /'fortran_order':\s*(True|False)/.exec(header) ?? []
  const shape = tuple === undefined ? undefined : sizesOf(tuple)
  if (shape === undefined || fortranOrder === undefined) {
    throw corrupt(path, `the header of ${name} is not that of an array`)
  }
  const type = letters === undefined ? undefined : elementTypeOf('npy', letters)
  const elements = () => {
    if (type === undefined)
      throw unsupported(path, `weights are floating point: ${name} has ${header.trim().slice(0, LONGEST_SHOWN)}`)
    const { bytes: size } = ELEMENT_TYPES[type]
    const count = checkedCount(path, name, shape, (bytes.length - start) / size)
    const stored = bytes.subarray(start, start + count * size)
    const body = byteOrder === '>' ? swappedBytes(stored, size) : stored
    const data = decodeElements(path, name, type, body)
    return fortranOrder === 'True' ? rowMajor(path, name, data, shape) : data
  }
  return { shape, dtype: letters ?? 'object', elements }
}

/** The sizes in the text of a tuple; undefined if it is not one. On Python 2, NumPy wrote sizes of type long as `3L`. */
function sizesOf(tuple: string): number[] | undefined {
  const items = tuple.split(',')
  if (items.at(-1)?.trim() === '') items.pop()
  return items.every((item) => /^\s*\d+L?\s*$/.test(item)) ? items.map(Number.parseFloat) : undefined
}

/** A tensor as a `.npy` file, version 1.0. */
export function encodeNpy({ data, shape }: Tensor<FloatArray>): Uint8Array {
  const descr = data instanceof Float64Array ? '<f8' : '<f4'
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(', ')
  const dict = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${sizes}), }`
  const start = Math.ceil((10 + dict.length + 1) / ALIGNMENT) * ALIGNMENT
  const file = new Uint8Array(start + data.byteLength).fill(0x20, 10, start)
  file.set([...MAGIC, 1, 0])
  new DataView(file.buffer).setUint16(8, start - 10, true)
  file.set(new TextEncoder().encode(dict), 10)
  file[start - 1] = 0x0a
  file.set(littleEndianBytes(data), start)
  return file
}

/** Column-major elements in row-major order. */
function rowMajor(path: string, name: string, data: FloatArray, shape: readonly number[]): FloatArray {
  const strides: number[] = []
  let stride = 1
  for (const size of shape) {
    strides.push(stride)
    stride *= size
  }
  const elements = stridedElements(data, { offset: 0, shape, strides })
  if (elements === undefined) throw corrupt(path, `${name} reaches beyond its elements`)
  return elements
}
