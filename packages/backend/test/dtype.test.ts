import { describe, expect, it } from 'vitest'
import { DTYPES, type DType, dtypeOf } from '../src/index.js'

describe('DTYPES', () => {
  it.each(Object.entries(DTYPES))(
    '%s has the bytes of its array, and its array has the dtype',
    (dtype, { bytes, array }) => {
      expect(array.BYTES_PER_ELEMENT).toBe(bytes)
      expect(dtypeOf(new array(1))).toBe(dtype as DType)
    },
  )

  it('cannot be changed by a caller', () => {
    expect(Object.isFrozen(DTYPES)).toBe(true)
  })
})

describe('dtypeOf', () => {
  it.each([
    [new (class extends Float32Array {})(1), 'float32'],
    [new Float64Array(0), 'float64'],
    [new Uint8Array(1), undefined],
    [new Uint32Array(1), undefined],
    [new BigInt64Array(1), undefined],
    [new DataView(new ArrayBuffer(4)), undefined],
    [[1, 2], undefined],
    [{ constructor: Float32Array, length: 1 }, undefined],
    [null, undefined],
    [undefined, undefined],
    ['float32', undefined],
  ])('of %o is %s', (data, expected) => {
    expect(dtypeOf(data)).toBe(expected)
  })

  it('is not deceived by a tag of the object', () => {
    expect(dtypeOf(Object.defineProperty(new Float32Array(1), Symbol.toStringTag, { value: 'Int32Array' }))).toBe(
      'float32',
    )
  })
})
