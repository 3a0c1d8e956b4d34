import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { entryOf, required, zip } from '../../src/rules/index.js'

describe('required', () => {
  it.each([0, '', false, Number.NaN, 'x'])('returns %o, which is there', (value) => {
    expect(required(value, 'the value is there')).toBe(value)
  })

  it.each([undefined, null])('refuses %s and states the invariant', (value) => {
    expect(() => required(value, 'a training forward has a tape')).toThrow(
      expect.objectContaining({
        code: 'ERR_BROKEN_INVARIANT',
        message: `Cannot continue as an invariant of the library is broken: a training forward has a tape, but the current value is ${value}. Please report this defect with its stack.`,
      }),
    )
  })
})

describe('entryOf', () => {
  it('reads an entry, also one of a falsy value', () => {
    expect(entryOf(new Map([['kernel', 0]]), 'kernel')).toBe(0)
  })

  it('names the key that is missing', () => {
    expect(() => entryOf(new Map(), 'bias')).toThrow(
      coded('ERR_BROKEN_INVARIANT', { message: expect.stringContaining('the entry bias') }),
    )
  })
})

describe('zip', () => {
  it('pairs the elements of two lists of any kind, also falsy ones', () => {
    expect([...zip([1, 2, 3], ['a', '', undefined])]).toEqual([
      [1, 'a'],
      [2, ''],
      [3, undefined],
    ])
    expect([...zip(new Set([1]), Int32Array.of(0))]).toEqual([[1, 0]])
    expect([...zip([], [])]).toEqual([])
  })

  it.each([
    [[1, 2], [1]],
    [[1], [1, 2]],
    [[], [1]],
    [[1], []],
  ])('refuses %o beside %o, after the pairs', (first, second) => {
    const pairs: unknown[] = []
    const run = () => {
      for (const pair of zip(first, second)) pairs.push(pair)
    }
    expect(run).toThrow(coded('ERR_BROKEN_INVARIANT'))
    expect(pairs).toHaveLength(Math.min(first.length, second.length))
  })
})
