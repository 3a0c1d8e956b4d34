import { describe, expect, it } from 'vitest'
import { codedErrors, hasErrorCode } from '../src/rules/index.js'

const { codedRangeError, codedTypeError } = codedErrors<'ERR_A' | 'ERR_B'>()

describe('hasErrorCode', () => {
  it('narrows errors by code, and any code when none is named', () => {
    const error = codedRangeError('ERR_A', 'message', { value: 3 })
    expect(error).toBeInstanceOf(RangeError)
    expect(error).toMatchObject({ code: 'ERR_A', message: 'message', value: 3 })
    expect(hasErrorCode(error)).toBe(true)
    expect(hasErrorCode(error, 'ERR_B', 'ERR_A')).toBe(true)
    expect(hasErrorCode(error, 'ERR_B')).toBe(false)
    expect(hasErrorCode(new Error('no code'))).toBe(false)
    expect(hasErrorCode({ code: 'ERR_A' })).toBe(false)
    expect(codedTypeError('ERR_B', '')).toBeInstanceOf(TypeError)
  })
})
