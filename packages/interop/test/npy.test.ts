import { littleEndianBytes } from '@cudnn-rnn/checkpoint/files'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { ByteList } from '../fuzz/byte_list.js'
import { zipBytes } from '../fuzz/zip_bytes.js'
import { decodeNpy, encodeNpy } from '../src/files/npy.js'
import { importWeights } from '../src/index.js'

const decoded = (bytes: Uint8Array) => decodeNpy('weights.npz', 'kernel', bytes)
const corrupt = (rule: RegExp) => coded('ERR_WEIGHTS_CORRUPT', { message: expect.stringMatching(rule) as string })

/** An array with the header `dict`, as a NumPy of that format version writes it. */
function npy(dict: string, elements: Uint8Array, version = 1): Uint8Array {
  const header = `${dict}\n`
  const list = new ByteList().bytes([0x93]).text('NUMPY').bytes([version, 0])
  return (version === 1 ? list.u16(header.length) : list.u32(header.length)).text(header).bytes(elements).finish()
}

const bytesOf = littleEndianBytes
const dict = (descr: string, shape: string, order = 'False') =>
  `{'descr': '${descr}', 'fortran_order': ${order}, 'shape': ${shape}, }`

describe('decodeNpy', () => {
  const six = bytesOf(Float32Array.of(0, 1, 2, 3, 4, 5))

  it.each([1, 2, 3])('reads format version %d', (version) => {
    const { shape, dtype, elements } = decoded(npy(dict('<f4', '(2, 3)'), six, version))
    expect([shape, dtype, elements()]).toEqual([[2, 3], 'f4', Float32Array.of(0, 1, 2, 3, 4, 5)])
  })

  it.each([
    ['()', []],
    ['(1,)', [1]],
    ['(1,1,1)', [1, 1, 1]],
    // NumPy on Python 2 wrote sizes of type long so, above all on Windows.
    ['(1L,)', [1]],
    ['(1L, 1L)', [1, 1]],
  ])('reads the shape %s', (text, shape) => {
    const array = decoded(npy(dict('<f4', text), six.subarray(0, 4)))
    expect(array.shape).toEqual(shape)
    expect(array.elements()).toEqual(Float32Array.of(0))
  })

  it('reads big-endian elements of every width', () => {
    const reversed = (values: Float32Array | Float64Array | Uint16Array) =>
      bytesOf(values.slice().reverse()).slice().reverse()
    expect(decoded(npy(dict('>f8', '(2,)'), reversed(Float64Array.of(0.1, -2)))).elements()).toEqual(
      Float64Array.of(0.1, -2),
    )
    expect(decoded(npy(dict('>f4', '(2,)'), reversed(Float32Array.of(1.5, -2)))).elements()).toEqual(
      Float32Array.of(1.5, -2),
    )
    // 1 and -2 in float16.
    expect(decoded(npy(dict('>f2', '(2,)'), reversed(Uint16Array.of(0x3c00, 0xc000)))).elements()).toEqual(
      Float32Array.of(1, -2),
    )
  })

  it('gives the elements of a column-major array row by row', () => {
    const { elements } = decoded(npy(dict('<f4', '(2, 3)', 'True'), six))
    expect(elements()).toEqual(Float32Array.of(0, 2, 4, 1, 3, 5))
  })

  it('reads an array without elements, column-major too', () => {
    for (const order of ['False', 'True']) {
      expect(decoded(npy(dict('<f4', '(0, 3)', order), new Uint8Array())).elements()).toEqual(new Float32Array())
    }
  })

  it('reads unaligned elements of a view, and leaves bytes after them', () => {
    const bytes = npy(dict('<f8', '(1,)'), new Uint8Array([...bytesOf(Float64Array.of(0.1)), 9, 9]))
    const shifted = new Uint8Array(bytes.length + 3)
    shifted.set(bytes, 3)
    expect(decoded(shifted.subarray(3)).elements()).toEqual(Float64Array.of(0.1))
  })

  it.each(['<i4', '|b1', '|u1', '<c8', '<U5', '|O'])(
    'lists an array of %s, and does not read it as weights',
    (descr) => {
      const array = decoded(npy(dict(descr, '(1,)'), bytesOf(Int32Array.of(1))))
      expect(array.shape).toEqual([1])
      expect(() => array.elements()).toThrow(coded('ERR_WEIGHTS_UNSUPPORTED'))
    },
  )

  it('refuses an array with fewer elements than its shape', () => {
    const array = decoded(npy(dict('<f4', '(7,)'), six))
    expect(() => array.elements()).toThrow(corrupt(/kernel cannot have shape \[7\]: there is room for 6 elements/))
    const huge = decoded(npy(dict('<f4', '(9007199254740993, 0)'), six))
    expect(() => huge.elements()).toThrow(corrupt(/shape/))
  })

  it.each([
    ['nothing', new Uint8Array()],
    ['another magic', new Uint8Array(64)],
    ['a header cut in its length', npy(dict('<f4', '()'), six, 2).subarray(0, 11)],
    ['a header cut in its text', npy(dict('<f4', '()'), six).subarray(0, 30)],
    ['a header of 4 GiB', npy(dict('<f4', '()'), six, 2).fill(0xff, 8, 12)],
    ['a header without a shape', npy("{'descr': '<f4', 'fortran_order': False}", six)],
    ['a header without an order', npy("{'descr': '<f4', 'shape': (1,)}", six)],
    ['a shape that is not a tuple of sizes', npy(dict('<f4', '(-1,)'), six)],
    ['two sizes without a comma', npy(dict('<f4', '(1 2)'), six)],
    ['an empty size', npy(dict('<f4', '(2,,3)'), six)],
  ])('refuses %s', (_, bytes) => {
    expect(() => decoded(bytes)).toThrow(coded('ERR_WEIGHTS_CORRUPT'))
  })
})

describe('encodeNpy', () => {
  it.each([
    [Float32Array.of(1.5), []],
    [Float32Array.of(1, 2, 3), [3]],
    [Float64Array.of(0.1, 0.2, 0.3, 0.4, 0.5, 0.6), [1, 2, 3]],
    [new Float32Array(), [0, 4]],
  ])('writes %s of shape %j, aligned, as decodeNpy reads it', (data, shape) => {
    const bytes = encodeNpy({ data, shape })
    expect((bytes.length - data.byteLength) % 64).toBe(0)
    expect(bytes[bytes.length - data.byteLength - 1]).toBe(0x0a)
    const array = decoded(bytes)
    expect([array.shape, array.elements()]).toEqual([shape, data])
  })

  it('writes the elements of a view alone', () => {
    const data = Float32Array.of(9, 1, 2, 9).subarray(1, 3)
    expect(decoded(encodeNpy({ data, shape: [2] })).elements()).toEqual(Float32Array.of(1, 2))
  })

  it('writes the header that NumPy writes', () => {
    const text = new TextDecoder('latin1').decode(
      encodeNpy({ data: Float32Array.of(1, 2), shape: [2] }).subarray(10, 128),
    )
    expect(text.trimEnd()).toBe("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }")
  })
})

describe('importWeights of arrays of Python objects', () => {
  const objects = { bytes: npy(dict('|O', '()'), Uint8Array.of(0x80, 2)) }

  it.each([
    ['alone', ['params'], 'ERR_WEIGHTS_UNSUPPORTED', /params holds Python objects, which are not loaded/],
    ['beside numbers, of a recurrent name', ['lstm'], 'ERR_WEIGHTS_UNRECOGNIZED', /lstm \(Python objects\)/],
  ])('refuses them %s', async (_, names, code, message) => {
    const numbers = { name: 'head.npy', bytes: npy(dict('<f4', '(1,)'), new Uint8Array(4)) }
    const files = names.map((name) => ({ ...objects, name: `${name}.npy` }))
    const archive = zipBytes(code === 'ERR_WEIGHTS_UNRECOGNIZED' ? [...files, numbers] : files)
    await expect(importWeights(archive)).rejects.toThrow(
      coded(code, { message: expect.stringMatching(message) as string }),
    )
  })
})
