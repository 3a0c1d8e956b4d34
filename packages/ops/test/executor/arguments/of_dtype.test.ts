import { expect, it } from 'vitest'
import { ofDtype } from '../../../src/executor/index.js'

it('converts the elements of the other floating type, and keeps a tensor that has its dtype', () => {
  const single = { data: Float32Array.of(0.5, -2), shape: [2] }
  expect(ofDtype('float64', single)).toEqual({ data: Float64Array.of(0.5, -2), shape: [2] })
  expect(ofDtype('float32', single)).toBe(single)
})
