import { describe, expect, it } from 'vitest'
import { entryOf, required } from '../src/index.js'

describe('required', () => {
  it.each([0, '', false, Number.NaN, 'x'])('returns %o, which is there', (value) => {
    expect(required(value, 'the value')).toBe(value)
  })

  it.each([undefined, null])('refuses %s by name', (value) => {
    expect(() => required(value, 'the tape')).toThrow(
      expect.objectContaining({
        code: 'ERR_BROKEN_INVARIANT',
        message: `Cannot continue as the tape must be there: current value is ${value}`,
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
      expect.objectContaining({ code: 'ERR_BROKEN_INVARIANT', message: expect.stringContaining('the entry bias') }),
    )
  })
})
