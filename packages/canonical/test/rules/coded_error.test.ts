import { describe, expect, it } from 'vitest'
import { codedError, codedRangeError, codedTypeError, hasErrorCode } from '../../src/rules/index.js'

describe.each([
  ['codedRangeError', codedRangeError, RangeError],
  ['codedTypeError', codedTypeError, TypeError],
  ['codedError', codedError, Error],
] as const)('%s', (_, make, Base) => {
  it('makes a built-in error with the code and the fields', () => {
    const error = make('ERR_SHAPE', 'Cannot add as …', { expected: [2, 3], actual: undefined })
    expect(error).toBeInstanceOf(Base)
    expect(Object.keys(error).sort()).toEqual(['actual', 'code', 'expected'])
    expect(error).toMatchObject({ code: 'ERR_SHAPE', message: 'Cannot add as …', expected: [2, 3] })
  })

  it('keeps its code where the fields have one', () => {
    expect(make('ERR_SHAPE', '', { code: 'EACCES' }).code).toBe('ERR_SHAPE')
  })

  it('keeps a cause', () => {
    const cause = new Error('below')
    expect(make('ERR_SHAPE', '', { cause }).cause).toBe(cause)
  })

  it('escapes control characters, which could rewrite the line of a terminal', () => {
    const { message } = make('ERR_AXIS', 'Cannot read \u001b[2Jname\r as it is hidden\u202e')
    for (const character of ['\u001b', '\r', '\u202e']) expect(message).not.toContain(character)
    expect(message).toContain('name')
  })

  it.each([undefined, 3, null, { toString: () => 'text' }])('refuses the message %o with a code', (message) => {
    expect(() => make('ERR_SHAPE', message as string)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_ARGUMENT',
        message: `Cannot make an error as its message must be a string: current type is ${typeof message}`,
      }),
    )
  })
})

describe('ErrorCode', () => {
  it('is a code of docs/errors.md', () => {
    // @ts-expect-error a code that is in no list
    expect(codedRangeError('ERR_SHAPES', 'Cannot add as …').code).toBe('ERR_SHAPES')
    // @ts-expect-error a code that is not known to be one
    expect(codedTypeError(String('ERR_SHAPE'), 'Cannot add as …').code).toBe('ERR_SHAPE')
  })
})

describe('hasErrorCode', () => {
  it.each([
    ['an error of Node.js', Object.assign(new Error(''), { code: 'ENOENT' }), true],
    ['a code that is a number', Object.assign(new Error(''), { code: 6 }), false],
    ['an error without a code', new Error(''), false],
    ['an object that only looks like an error', { code: 'ERR_SHAPE', message: '' }, false],
    ['null', null, false],
    ['a string', 'ERR_SHAPE', false],
  ])('%s: %#', (_, value, expected) => {
    expect(hasErrorCode(value)).toBe(expected)
  })

  it('compares whole codes', () => {
    const error = codedRangeError('ERR_SHAPE', '')
    expect(hasErrorCode(error, 'ERR_SHAPES', 'ERR_')).toBe(false)
    expect(hasErrorCode(error, 'ERR_DTYPE', 'ERR_SHAPE')).toBe(true)
  })
})
