import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { checkSequenceLengths } from '../../../src/executor/index.js'

const check = (lengths: unknown, time = 4, batch = 2) =>
  checkSequenceLengths('run forward', lengths as never, time, batch)

describe('checkSequenceLengths', () => {
  it.each([
    ['null', null],
    ['an array', [4, 4]],
    ['an Int32Array', Int32Array.of(4, 4)],
  ])('is null for rows of full length: %s', (_, lengths) => {
    expect(check(lengths)).toBeNull()
  })

  it('copies lengths in 0..T, in any order', () => {
    const lengths = Int32Array.of(0, 3)
    const checked = check(lengths)
    lengths[1] = 9
    expect(checked).toEqual(Int32Array.of(0, 3))
    expect(check([2, 4])).toEqual(Int32Array.of(2, 4))
  })

  it('takes an empty batch, and T = 0', () => {
    expect(check([], 4, 0)).toBeNull()
    expect(check([0, 0], 0)).toBeNull()
  })

  it('names the axes if there is a length for each step', () => {
    expect(() => check([4, 4, 4, 4])).toThrow(
      'current number is 4. Its input has 4 steps: the first axis is time, [T,B,…]',
    )
  })

  it.each([
    [[4, 5], { row: 1, value: 5, maximum: 4 }],
    [[-1, 5], { row: 0, value: -1 }],
    [[1.5, 2], { row: 0, value: 1.5 }],
    [[1, '2'], { row: 1, value: '2' }],
    [new Array(2), { row: 0, value: undefined }],
    [[1], { expected: 2, actual: 1 }],
    [Int32Array.of(1, 2, 3), { expected: 2, actual: 3 }],
  ])('refuses %o with RangeError', (lengths, fields) => {
    expect(() => check(lengths)).toThrow(coded('ERR_SEQUENCE_LENGTHS', { name: 'RangeError', ...fields }))
  })

  it.each([undefined, 'ab', 3, new Float32Array(2), new Set([1, 2]), { length: 2, 0: 1, 1: 1 }])(
    'refuses %o with TypeError',
    (lengths) => {
      expect(() => check(lengths)).toThrow(coded('ERR_SEQUENCE_LENGTHS', { name: 'TypeError' }))
    },
  )

  it('counts the elements of an array whose buffer was transferred', () => {
    const lengths = new Int32Array(2)
    structuredClone(lengths, { transfer: [lengths.buffer] })
    expect(() => check(lengths)).toThrow(coded('ERR_SEQUENCE_LENGTHS', { expected: 2, actual: 0 }))
  })

  it('reads each length once', () => {
    let reads = 0
    const lengths = Object.defineProperty([0, 2], 0, { get: () => (reads++ === 0 ? 3 : 99) })
    expect(check(lengths)).toEqual(Int32Array.of(3, 2))
    expect(reads).toBe(1)
  })
})
