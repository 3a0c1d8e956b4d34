import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { countValues, decodeTensorProto } from '../../src/bundle/tensor_proto.js'

const bytes = (...values: number[]) => Uint8Array.from(values)
/** A field of bytes. */
const delimited = (field: number, ...contents: number[]) => {
  const tag = (field << 3) | 2
  return [...(tag < 128 ? [tag] : [(tag & 127) | 128, tag >> 7]), contents.length, ...contents]
}
const varint = (field: number, ...value: number[]) => {
  const tag = field << 3
  return [...(tag < 128 ? [tag] : [(tag & 127) | 128, tag >> 7]), ...value]
}
const ONE = [0, 0, 0x80, 0x3f]
const MINUS_TWO = [0, 0, 0, 0xc0]
const minusOne = [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]

describe('decodeTensorProto', () => {
  it.each([
    ['packed floats', 'float32', delimited(5, ...ONE, ...MINUS_TWO), Float32Array.of(1, -2)],
    ['floats one by one', 'float32', [45, ...ONE, 45, ...MINUS_TWO], Float32Array.of(1, -2)],
    ['both ways in one message', 'float32', [...delimited(5, ...ONE), 45, ...MINUS_TWO], Float32Array.of(1, -2)],
    ['doubles', 'float64', delimited(6, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f), Float64Array.of(1)],
    ['int32', 'int32', delimited(7, 5, ...minusOne), Int32Array.of(5, -1)],
    ['uint8 within int32 values', 'uint8', delimited(7, 255, 1, 0), Uint8Array.of(255, 0)],
    ['int64', 'int64', delimited(10, 5, ...minusOne), BigInt64Array.of(5n, -1n)],
    ['bool', 'bool', delimited(11, 1, 0), Uint8Array.of(1, 0)],
    ['half by its bits', 'float16', delimited(13, 0x80, 0x78), Uint16Array.of(0x3c00)],
    ['complex numbers by their parts', 'complex64', delimited(9, ...ONE, ...MINUS_TWO), Float32Array.of(1, -2)],
    [
      'uint64',
      'uint64',
      delimited(17, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1),
      BigUint64Array.of(2n ** 64n - 1n),
    ],
    ['no values', 'float32', [], Float32Array.of()],
  ] as const)('reads %s', (_, dtype, message, expected) => {
    expect(decodeTensorProto(dtype, bytes(...message))).toEqual(expected)
    expect(countValues(bytes(...message))).toBe(expected.length)
  })

  it('reads strings, empty ones too', () => {
    const message = bytes(...delimited(8, 97, 98), ...delimited(8))
    expect(decodeTensorProto('string', message)).toEqual([bytes(97, 98), bytes()])
    expect(countValues(message)).toBe(2)
  })

  it('passes over dtype, shape and other fields', () => {
    const message = [...varint(1, 1), ...delimited(2, 18, 2, 8, 1), ...varint(3, 0), ...delimited(5, ...ONE)]
    expect(decodeTensorProto('float32', bytes(...message))).toEqual(Float32Array.of(1))
  })

  it.each([
    ['values of another type', 'float64', delimited(5, ...ONE)],
    ['values of two types', 'float32', [...delimited(5, ...ONE), ...delimited(7, 1)]],
    ['a value beyond its type', 'uint8', delimited(7, 128, 2)],
    ['a negative value of an unsigned type', 'uint8', delimited(7, ...minusOne)],
    ['a message that is cut', 'float32', [42, 8, ...ONE]],
    ['a float that is cut', 'float32', delimited(5, 0, 0)],
  ] as const)('refuses %s', (_, dtype, message) => {
    expect(() => decodeTensorProto(dtype, bytes(...message))).toThrow(coded('ERR_CHECKPOINT_CORRUPT'))
  })

  it('refuses to count values of two types', () => {
    const message = bytes(...delimited(5, ...ONE), ...delimited(7, 1))
    expect(() => countValues(message)).toThrow(coded('ERR_CHECKPOINT_CORRUPT'))
  })
})
