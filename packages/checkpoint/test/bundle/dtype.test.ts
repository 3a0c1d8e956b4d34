import { expect, it } from 'vitest'
import { DTYPES, dtypeOfArray, dtypeOfId } from '../../src/bundle/dtype.js'

it('dtypeOfArray gives the dtype of the name of a typed array, and none for other values', () => {
  const arrays = [Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Uint8Array, Uint16Array, Uint32Array]
  expect(arrays.map((array) => dtypeOfArray(new array(1)))).toEqual([
    ...['float32', 'float64', 'int8', 'int16', 'int32', 'uint8', 'uint16', 'uint32'],
  ])
  expect([dtypeOfArray(new BigInt64Array(1)), dtypeOfArray(new BigUint64Array(1))]).toEqual(['int64', 'uint64'])
  for (const value of [[1], new Uint8ClampedArray(1), new DataView(new ArrayBuffer(1)), undefined, null, '']) {
    expect(dtypeOfArray(value)).toBeUndefined()
  }
})

it('dtypeOfId gives every dtype back by its number', () => {
  for (const [dtype, { id }] of Object.entries(DTYPES)) expect(dtypeOfId(id)).toBe(dtype)
  expect(dtypeOfId(0)).toBeUndefined()
})
