import { DTYPES } from '@cudnn-rnn/ops'
import { describe, expect, it } from 'vitest'
import { dtypeOf } from '../../../src/executor/arguments/dtype_of.js'

describe('dtypeOf', () => {
  it.each(Object.entries(DTYPES))('of an array of %s is its dtype', (dtype, { array }) => {
    expect(dtypeOf(new array(1))).toBe(dtype)
  })

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
