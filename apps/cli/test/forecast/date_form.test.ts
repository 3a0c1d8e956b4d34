import { expect, it } from 'vitest'
import { isDate, readDates } from '../../src/forecast/date_form.js'

const read = (text: string) => {
  const dates = readDates([text])
  if (typeof dates === 'number') return undefined
  return dates.map(({ clocks, offsets }) => {
    return new Date((clocks[0] ?? 0) - (offsets?.[0] ?? 0)).toISOString().replace(':00.000Z', '').replace('T00:00', '')
  })
}

it('a date that the form of the file cannot state is refused, not written in another form', () => {
  const written = (text: string, clock: number) => {
    const dates = readDates([text])
    return typeof dates === 'number' ? undefined : dates[0]?.write(clock, 0)
  }
  const [last, next] = [Date.UTC(9999, 11, 31), Date.UTC(10_000, 0, 1)]
  for (const text of ['9999-12-30', '30.12.9999', '99991230', 'Dec 9999', '9999-Q4', '9999']) {
    expect(written(text, last)).toHaveLength(text.length)
    expect(() => written(text, next)).toThrowError(expect.objectContaining({ code: 'ERR_INVALID_OPTION' }))
  }
})

it.each([
  ['2020-04-01', '2020-04-01'],
  ['2020-4-1', '2020-04-01'],
  ['2020-04', '2020-04-01'],
  ['2020', '2020-01-01'],
  ['2020-Q3', '2020-07-01'],
  ['Q3/2020', '2020-07-01'],
  ['20200401', '2020-04-01'],
  ['202004', '2020-04-01'],
  ['99-04-13', '1999-04-13'],
  ['2020 Apr', '2020-04-01'],
  ['1.4.2020', '2020-04-01'],
  ['01.04.99', '1999-04-01'],
  ['4/13/2020', '2020-04-13'],
  ['13/4/2020', '2020-04-13'],
  ['13-Apr-2020', '2020-04-13'],
  ['April 13, 2020', '2020-04-13'],
  ['Sep 2020', '2020-09-01'],
  ['2020-04-01 13:30', '2020-04-01T13:30'],
  ['13.4.2020, 7:05', '2020-04-13T07:05'],
  ['4/13/2020 12:15 AM', '2020-04-13T00:15'],
  ['4/13/2020 12:15 pm', '2020-04-13T12:15'],
  ['2020-04-01T13:30:15+02:00', '2020-04-01T11:30:15.000Z'],
  ['2020-01-01T00:30+0130', '2019-12-31T23:00'],
  ['2019-12-31T23:00-02', '2020-01-01T01:00'],
  ['2020-04-01 13:30 UTC', '2020-04-01T13:30'],
  ['2020-04-01T13:30:15.5', '2020-04-01T13:30:15.500Z'],
  ['2020-04-01T13:30:59.9999Z', '2020-04-01T13:30:59.999Z'],
  ['1585744200', '2020-04-01T12:30'],
  ['1585744200.25', '2020-04-01T12:30:00.250Z'],
  ['1585744200250', '2020-04-01T12:30:00.250Z'],
])('%s is read in one form, as %s', (text, expected) => {
  expect(read(text)).toEqual([expected])
})

it.each([
  ...[
    '2020-02-31',
    '2020-13-01',
    'April',
    '',
    '2020-04-01 13:75',
    '2020-04-01T24:30',
    '2020-04-01 13:30:60',
    '0050-01-01',
  ],
  ...[
    '2020-00-01',
    '2020-Q5',
    '2020-04-01 13',
    '2020-04-01T13:30+15:00',
    '31.4.2020',
    'Foo 2020',
    '4/13/2020 13:00 PM',
  ],
])('%s fits no form', (text) => {
  expect(read(text)).toBeUndefined()
})

it('a column that fits two forms is read in both, and the first text that fits none is named', () => {
  expect(read('1/2/2020')).toEqual(['2020-01-02', '2020-02-01'])
  expect(readDates(['1/2/2020', '13/2/2020'])).toHaveLength(1)
  expect(readDates(['2020-01-01', '2020-01-02', 'later', '2020-01-04'])).toBe(2)
  expect(readDates(['1/13/2020', '13/1/2020'])).toBe(1)
})

it.each([
  ['day', '2020-04-01', true],
  ['x', '1.4.2020', true],
  ['year', '1990', true],
  ['timestamp', '1585744200', true],
  ['sold', '1990', false],
  ['id', '1585744200', false],
  ['product', 'Product 5', false],
  ['text', 'May be', false],
])('column %s of %s: dates %s', (column, text, expected) => {
  expect(isDate(column, text)).toBe(expected)
})

it.each([
  [
    ['65-01-01', '78-01-01'],
    [1965, 1978],
  ],
  [
    ['1.1.95', '1.1.68', '1.1.05'],
    [1995, 1968, 2005],
  ],
  [
    ['1/1/98', '1/1/02'],
    [1998, 2002],
  ],
  [
    ['65-01-01', '10-01-01'],
    [1965, 2010],
  ],
  [
    ['60-01-01', '66-01-01'],
    [2060, 2066],
  ],
])('years of %j follow each other', (texts, expected) => {
  const [dates] = readDates(texts) as Exclude<ReturnType<typeof readDates>, number>
  expect(dates?.clocks.map((clock) => new Date(clock).getUTCFullYear())).toEqual(expected)
})

it.each([
  [['2020-04-01', '2020-04-02 13:00'], Date.UTC(2020, 3, 3), '2020-04-03 00:00'],
  [['9:30', '10:30'].map((time) => `1.1.2020 ${time}`), Date.UTC(2020, 1, 2, 8), '2.2.2020 8:00'],
  [['0999-04-01'], Date.UTC(999, 3, 2), '0999-04-02'],
  [['SEP 2020', 'OCT 2020'], Date.UTC(2021, 0, 1), 'JAN 2021'],
  [['2020-04-01T13:30:15.25Z'], Date.UTC(2020, 3, 1, 0, 0, 0, 125), '2020-04-01T00:00:00.12Z'],
])('after %j is written as in the column', (texts, clock, expected) => {
  const [dates] = readDates(texts) as Exclude<ReturnType<typeof readDates>, number>
  expect(dates?.write(clock, 0)).toBe(expected)
})
