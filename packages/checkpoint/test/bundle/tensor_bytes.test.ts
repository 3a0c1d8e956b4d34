import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { crc32c } from '../../src/crc32c.js'
import { decodeElements, encodeElements } from '../../src/bundle/tensor_bytes.js'

const bytes = (...values: number[]) => Uint8Array.from(values)
const text = (value: string) => new TextEncoder().encode(value)

describe('elements of numbers', () => {
  it('are raw little-endian values, of a part of a buffer too', () => {
    const whole = Float32Array.of(9, 1, -2, 9)
    const { bytes: encoded, checksum } = encodeElements('float32', whole.subarray(1, 3))
    expect(encoded).toEqual(bytes(0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0))
    expect(checksum).toBe(crc32c(encoded))
    expect(encodeElements('int64', BigInt64Array.of(-2n)).bytes).toEqual(bytes(254, 255, 255, 255, 255, 255, 255, 255))
  })

  it('are decoded at any offset of their file, without its other bytes', () => {
    const file = bytes(7, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 7)
    const { data, checksum } = decodeElements('w', 'float32', 2, file.subarray(1, 9))
    expect(data).toEqual(Float32Array.of(1, -2))
    expect((data as Float32Array).buffer.byteLength).toBe(8)
    // The checksum is taken over the bytes themselves.
    expect(checksum).toBeUndefined()
    expect(decodeElements('w', 'int16', 1, bytes(0xfe, 0xff)).data).toEqual(Int16Array.of(-2))
    expect(decodeElements('w', 'float64', 0, bytes()).data).toEqual(new Float64Array())
  })

  it('of complex numbers are two for each', () => {
    const { data } = decodeElements('w', 'complex64', 1, bytes(0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0))
    expect([...(data as Float32Array)]).toEqual([1, -2])
  })
})

describe('elements of strings', () => {
  it('are their lengths, a checksum of these, and their bytes', () => {
    const { bytes: encoded } = encodeElements('string', ['ab', 'c', ''].map(text))
    expect([...encoded.subarray(0, 3)]).toEqual([2, 1, 0])
    expect([...encoded.subarray(7)]).toEqual([...text('abc')])
    expect(encoded.length).toBe(10)
  })

  it('have the checksum of 32-bit lengths, the stored checksum and the bytes', () => {
    const { bytes: encoded, checksum } = encodeElements('string', ['ab', 'c'])
    const lengths = bytes(2, 0, 0, 0, 1, 0, 0, 0)
    // crc32c of a concatenation, taken in one call.
    expect(checksum).toBe(crc32c(Uint8Array.from([...lengths, ...encoded.subarray(2)])))
  })

  it('are decoded as they were encoded, and do not hold the file', () => {
    const lengths = [[], [0], [1], [0, 0, 3], [127, 128, 0, 300], [20000]]
    for (const strings of lengths.map((each) => each.map((length, k) => new Uint8Array(length).fill(k + 1)))) {
      const { bytes: encoded, checksum } = encodeElements('string', strings)
      const decoded = decodeElements('names', 'string', strings.length, encoded)
      expect(decoded.data).toEqual(strings)
      expect(decoded.checksum).toBe(checksum)
      for (const each of decoded.data as Uint8Array[]) expect(each.buffer.byteLength).toBe(each.length)
    }
  })

  it('are refused where they are damaged', () => {
    const { bytes: encoded } = encodeElements('string', ['ab', 'c'])
    const decode = (count: number, given: Uint8Array) => () => decodeElements('names', 'string', count, given)
    const corrupt = coded('ERR_CHECKPOINT_CORRUPT')
    expect(decode(2, encoded.subarray(0, 5))).toThrow(corrupt)
    expect(decode(2, encoded.subarray(0, encoded.length - 1))).toThrow(corrupt)
    expect(decode(2, Uint8Array.from([...encoded, 0]))).toThrow(corrupt)
    // More strings than bytes: nothing is allocated for them.
    expect(decode(2 ** 40, encoded)).toThrow(corrupt)
    for (const at of [0, 1, 2, 5]) {
      const damaged = Uint8Array.from(encoded)
      damaged.set([(damaged[at] ?? 0) ^ 1], at)
      expect(decode(2, damaged)).toThrow(coded('ERR_CHECKPOINT_CHECKSUM', { tensorName: 'names' }))
    }
  })
})
