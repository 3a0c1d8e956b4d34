import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { isSystemError, unreadable } from '../../src/data/data_error.js'
import { missingColumn } from '../../src/data/table_row.js'
import { classId, DataError, finiteNumber } from '../../src/index.js'

const PLACE = { path: 'rows.csv', row: 3 }

describe('DataError', () => {
  it('has the place, and shows control characters of a file instead of sending them to a terminal', () => {
    const error = new DataError('ERR_DATA_VALUE', 'row 3 is \u001b[31mred', { ...PLACE, column: 'color' })
    expect(error).toMatchObject({ name: 'DataError', code: 'ERR_DATA_VALUE', ...PLACE, column: 'color' })
    expect(error.message).toBe('row 3 is \\x1b[31mred')
  })

  it('leaves the middle out of a message that quotes a whole file', () => {
    const { message } = new DataError('ERR_DATA_SYNTAX', `begin${'x'.repeat(100_000)}end`, { path: 'rows.csv' })
    expect(message.length).toBeLessThan(2100)
    expect(message).toMatch(/^beginx+… \(98008 characters\) …x+end$/)
  })
})

it('unreadable keeps the error of the system as the cause', () => {
  const cause = Object.assign(new Error('EACCES: permission denied'), { syscall: 'open' })
  expect(isSystemError(cause)).toBe(true)
  expect(isSystemError(new Error('EACCES'))).toBe(false)
  expect(unreadable('rows.csv', cause)).toMatchObject({
    ...{ code: 'ERR_DATA_IO', path: 'rows.csv', row: undefined, cause },
    message: 'Cannot read rows.csv (EACCES: permission denied)',
  })
})

describe('finiteNumber', () => {
  it.each<[string, unknown, number]>([
    ['a number', -2.5, -2.5],
    ['text', ' 1e3 ', 1000],
    ['a 64-bit integer', 12n, 12],
  ])('reads %s', (_, field, expected) => {
    expect(finiteNumber({ value: field }, 'value', PLACE)).toBe(expected)
  })

  it.each([true, null, {}, [1], 10n ** 400n, '0x10', '1e999', '1_000', ''])('refuses %s', (field) => {
    expect(() => finiteNumber({ value: field }, 'value', PLACE)).toThrow(
      coded('ERR_DATA_VALUE', { ...PLACE, column: 'value' }),
    )
  })

  it('names the columns where one is missing', () => {
    expect(() => finiteNumber({ a: 1, b: 2 }, 'c', PLACE)).toThrow(
      coded('ERR_DATA_COLUMN', { message: expect.stringContaining('columns are a, b') }),
    )
  })
})

it('classId reads the ids from 0 to the number of classes, which it does not reach', () => {
  expect([0, 2, '1'].map((id) => classId({ id }, 'id', 3, PLACE))).toEqual([0, 2, 1])
  expect(() => classId({ id: 0 }, 'id', 0, PLACE)).toThrow(coded('ERR_INVALID_OPTION'))
})

it.each([
  ['a;b', ';'],
  ['a\tb', '\\t'],
  ['a|b', '|'],
])('missingColumn advises the delimiter of a header that was not divided: %j', (header, delimiter) => {
  expect(missingColumn({ ...PLACE, column: 'a' }, [header]).message).toMatch(
    `Read it with the delimiter "${delimiter}"`,
  )
  expect(missingColumn({ ...PLACE, column: 'a' }, [header, 'c']).message).not.toContain('delimiter')
})
