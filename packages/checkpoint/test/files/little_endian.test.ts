import { describe, expect, it } from 'vitest'
import { inProcessorOrder, littleEndianBytes, swappedBytes } from '../../src/files/index.js'

/** The same on any processor. */
const bytesOf = (numbers: readonly number[]) => {
  const view = new DataView(new ArrayBuffer(4 * numbers.length))
  numbers.forEach((number, index) => {
    view.setFloat32(4 * index, number, true)
  })
  return new Uint8Array(view.buffer)
}

describe('little-endian numbers', () => {
  const numbers = [1.5, -2.25, 3e-20]

  it('are written and read on a processor of either order', () => {
    const bytes = littleEndianBytes(Float32Array.from([0, ...numbers]).subarray(1))
    expect([...bytes]).toEqual([...bytesOf(numbers)])
    const { buffer } = inProcessorOrder(new Uint8Array(bytes), 4)
    expect([...new Float32Array(buffer)]).toEqual([...Float32Array.from(numbers)])
  })

  it('are swapped number by number', () => {
    expect([...swappedBytes(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), 4)]).toEqual([4, 3, 2, 1, 8, 7, 6, 5])
    expect([...swappedBytes(Uint8Array.of(1, 2, 3), 1)]).toEqual([1, 2, 3])
  })
})
