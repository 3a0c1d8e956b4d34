import { describe, expect, it } from 'vitest'
import { stridedElements } from '../src/files/strided_elements.js'

describe('stridedElements', () => {
  const storage = Float32Array.of(0, 1, 2, 3, 4, 5)

  it('reads a transposed view row by row', () => {
    const transposed = stridedElements(storage, { offset: 0, shape: [3, 2], strides: [1, 3] })
    expect(transposed).toEqual(Float32Array.of(0, 3, 1, 4, 2, 5))
  })

  it('repeats elements along a dimension of stride 0', () => {
    const view = { offset: 4, shape: [2, 2], strides: [0, 1] }
    expect(stridedElements(storage, view)).toEqual(Float32Array.of(4, 5, 4, 5))
  })

  it('keeps double precision, and reads a scalar', () => {
    expect(stridedElements(Float64Array.of(0.1), { offset: 0, shape: [], strides: [] })).toEqual(Float64Array.of(0.1))
  })

  it('gives nothing for a view beyond its storage, and no elements for an empty one', () => {
    expect(stridedElements(storage, { offset: 1, shape: [3, 2], strides: [1, 3] })).toBeUndefined()
    expect(stridedElements(storage, { offset: 9, shape: [0, 2], strides: [2, 1] })).toEqual(new Float32Array(0))
  })
})
