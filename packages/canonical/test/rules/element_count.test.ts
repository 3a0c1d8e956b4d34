import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { elementCount } from '../../src/rules/index.js'

describe('elementCount', () => {
  it('is 1 for a scalar and 0 when a dimension is', () => {
    expect(elementCount([])).toBe(1)
    expect(elementCount([2, 0, 3])).toBe(0)
    expect(elementCount([2, 3])).toBe(6)
  })

  it.each([undefined, 6, '23', { length: 2 }, [2, '3'], [2, null]])('refuses %j', (shape) => {
    expect(() => elementCount(shape as never)).toThrow(coded('ERR_INVALID_OPTION_TYPE', { name: 'TypeError' }))
  })
})
