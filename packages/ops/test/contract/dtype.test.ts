import { describe, expect, it } from 'vitest'
import { DTYPES } from '../../src/index.js'

describe('DTYPES', () => {
  it.each(Object.entries(DTYPES))('%s has the bytes of its array', (_, { bytes, array }) => {
    expect(array.BYTES_PER_ELEMENT).toBe(bytes)
  })

  it('cannot be changed by a caller', () => {
    expect(Object.isFrozen(DTYPES)).toBe(true)
  })
})
