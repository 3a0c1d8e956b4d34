import { describe, expect, it } from 'vitest'
import { bfloat16ToNumber, float16ToNumber, numberToBfloat16, numberToFloat16 } from '../../src/files/index.js'

const CODECS = {
  float16: { decode: float16ToNumber, encode: numberToFloat16, nan: (bits: number) => (bits & 0x7fff) > 0x7c00 },
  bfloat16: { decode: bfloat16ToNumber, encode: numberToBfloat16, nan: (bits: number) => (bits & 0x7fff) > 0x7f80 },
}

describe.each(Object.entries(CODECS))('%s', (_, { decode, encode, nan }) => {
  it('encodes the value of every bit pattern to the same bits', () => {
    for (let bits = 0; bits < 65_536; bits++) {
      if (nan(bits)) expect(decode(bits)).toBeNaN()
      else if (encode(decode(bits)) !== bits) expect.fail(`bits ${bits}`)
    }
  })
})

// IEEE 754-2019, table 3.5: 10 fraction bits, exponents -14 to 15.
it.each([
  [1, 0x3c00],
  [-0, 0x8000],
  [65504, 0x7bff],
  [65519, 0x7bff],
  [65520, 0x7c00],
  [2 ** -14, 0x0400],
  [2 ** -24, 0x0001],
  [1 + 2 ** -11, 0x3c00],
  [1 + 3 * 2 ** -11, 0x3c02],
  [Number.NEGATIVE_INFINITY, 0xfc00],
])('numberToFloat16 of %d is %i', (value, bits) => {
  expect(numberToFloat16(value)).toBe(bits)
})

it.each([
  [1, 0x3f80],
  [1 + 2 ** -8, 0x3f80],
  [1 + 3 * 2 ** -8, 0x3f82],
  [3.4e38, 0x7f80],
])('numberToBfloat16 of %d is %i', (value, bits) => {
  expect(numberToBfloat16(value)).toBe(bits)
})
