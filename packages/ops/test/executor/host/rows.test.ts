import { describe, expect, it } from 'vitest'
import { floatAt } from '../../../src/executor/host/float_at.js'
import { addColumnSums, addRow, copyRow, fillRows } from '../../../src/executor/index.js'

const of = (...values: number[]) => Float32Array.from(values)

describe('fillRows', () => {
  it('repeats a row from its place on, and leaves the rest of the target', () => {
    const target = new Float32Array(7).fill(9)
    fillRows(target, 2, 3, of(0, 1, 2, 3), 1)
    expect(target).toEqual(of(1, 2, 3, 1, 2, 3, 9))
  })

  it('writes zeros for no row', () => {
    const target = new Float32Array(5).fill(9)
    fillRows(target, 2, 2, of(1, 2), undefined)
    expect(target).toEqual(of(0, 0, 0, 0, 9))
  })
})

describe('addColumnSums', () => {
  it('adds the sums of columns to the present values', () => {
    const target = of(100, 10, 20)
    addColumnSums(target, 1, of(1, 2, 3, 4, 5, 6), 3, 2)
    expect(target).toEqual(of(100, 19, 32))
  })

  it('sums in double precision', () => {
    // 2^24 ones added to 2^24 one after the other change nothing in float32.
    const target = of(0)
    addColumnSums(target, 0, of(2 ** 24, ...new Array<number>(64).fill(1)), 65, 1)
    expect(target[0]).toBe(2 ** 24 + 64)
  })
})

describe('copyRow and addRow', () => {
  it('touch `count` elements', () => {
    const target = of(1, 1, 1, 1)
    copyRow(target, 1, of(5, 6, 7), 1, 2)
    expect(target).toEqual(of(1, 6, 7, 1))
    addRow(target, 2, of(10, 20), 0, 2)
    expect(target).toEqual(of(1, 6, 17, 21))
    addRow(target, 0, of(), 0, 0)
    expect(target).toEqual(of(1, 6, 17, 21))
  })
})

describe('floatAt', () => {
  it('reads any element, and throws beyond the array', () => {
    expect([floatAt(of(0, 2), 0), floatAt(of(0, 2), 1)]).toEqual([0, 2])
    for (const index of [2, -1]) {
      expect(() => floatAt(of(0, 2), index)).toThrow(new RangeError(`Cannot read element ${index} of 2`))
    }
  })
})
