import { expect, it } from 'vitest'
import { afterSteps, dateText, parsedDate, parsedDates, stepOf, stepsBetween } from '../../src/forecast/step_dates.js'

const dates = (...texts: string[]) => texts.map((text) => parsedDate(text)!)

it('parsedDate reads years, months, quarters, days, times and offsets as UTC, and nothing else', () => {
  const read = (text: string) => parsedDate(text)?.toISOString()
  expect(read('2020-04-01')).toBe('2020-04-01T00:00:00.000Z')
  expect(read('2020-04')).toBe('2020-04-01T00:00:00.000Z')
  expect(read('2020')).toBe('2020-01-01T00:00:00.000Z')
  expect(read('2020-Q3')).toBe('2020-07-01T00:00:00.000Z')
  expect(read('2020-04-01 13:30')).toBe('2020-04-01T13:30:00.000Z')
  expect(read('2020-04-01T13:30:15+02:00')).toBe('2020-04-01T11:30:15.000Z')
  for (const text of ['2020-02-31', '2020-13-01', '01.04.2020', 'April', '']) expect(read(text)).toBeUndefined()
})

it('stepOf and afterSteps continue by months or by the usual time', () => {
  const next = (...texts: string[]) => {
    const known = dates(...texts)
    const step = stepOf(known)
    return dateText(afterSteps(known.at(-1)!, step, 1), step)
  }
  expect(next('2019-11-01', '2019-12-01', '2020-01-01')).toBe('2020-02-01')
  expect(next('2020-02-26', '2020-02-27', '2020-02-28')).toBe('2020-02-29')
  expect(next('2020-03-01 22:00', '2020-03-01 23:00')).toBe('2020-03-02T00:00')
})

it('stepOf and afterSteps continue by the ends of months, and by a day that February lacks', () => {
  const following = (count: number, ...texts: string[]) => {
    const known = dates(...texts)
    const step = stepOf(known)
    return Array.from({ length: count }, (_, k) => dateText(afterSteps(known.at(-1)!, step, k + 1), step))
  }
  expect(following(3, '2019-12-31', '2020-01-31', '2020-02-29')).toEqual(['2020-03-31', '2020-04-30', '2020-05-31'])
  expect(following(2, '2020-11-30', '2020-12-30', '2021-01-30')).toEqual(['2021-02-28', '2021-03-30'])
  expect(following(2, '2020-03-31', '2020-06-30', '2020-09-30')).toEqual(['2020-12-31', '2021-03-31'])
  expect(following(1, '2018-02-28', '2019-02-28', '2020-02-28')).toEqual(['2021-02-28'])
  expect(following(4, '2016-02-29', '2017-02-28')).toEqual(['2018-02-28', '2019-02-28', '2020-02-29', '2021-02-28'])
})

it('parsedDate keeps the milliseconds of a fraction', () => {
  const read = (text: string) => parsedDate(text)?.toISOString()
  expect(read('2020-04-01T13:30:15.5')).toBe('2020-04-01T13:30:15.500Z')
  expect(read('2020-04-01T13:30:15.0421+02:00')).toBe('2020-04-01T11:30:15.042Z')
  expect(read('2020-04-01T13:30:59.9999Z')).toBe('2020-04-01T13:30:59.999Z')
})

it('stepsBetween counts months and times', () => {
  const [from, to] = dates('2020-01-01', '2021-03-01') as [Date, Date]
  expect(stepsBetween(from, to, { months: 1, milliseconds: 0 })).toBe(14)
  expect(stepsBetween(from, to, { months: 0, milliseconds: 24 * 3600 * 1000 })).toBe(425)
})

it.each([
  '2020-04-01 13:75',
  '2020-04-01T24:30',
  '2020-04-01 13:30:60',
  '0050-01-01',
  '2020-00-01',
  '2020-Q5',
  '2020-04-01 13',
  '2020-04-01T13:30+0200',
  '20200401',
])('parsedDate refuses %s', (text) => {
  expect(parsedDate(text)).toBeUndefined()
})

it('parsedDate moves a time by its offset, over midnight too', () => {
  const read = (text: string) => parsedDate(text)?.toISOString()
  expect(read('2020-01-01T00:30+01:30')).toBe('2019-12-31T23:00:00.000Z')
  expect(read('2019-12-31T23:00-02:00')).toBe('2020-01-01T01:00:00.000Z')
  expect(read('2020-04-01T13:30Z')).toBe('2020-04-01T13:30:00.000Z')
})

it('parsedDates has all dates or none', () => {
  expect(parsedDates(['2020-01', '2020-02'])).toHaveLength(2)
  expect(parsedDates(['2020-01', 'later'])).toBeUndefined()
  expect(parsedDates([])).toEqual([])
})

it('stepOf passes over gaps, and takes quarters and years for months', () => {
  expect(stepOf(dates('2020-01-01', '2020-01-02', '2020-01-09', '2020-01-10'))).toEqual({
    months: 0,
    milliseconds: 24 * 3600 * 1000,
  })
  expect(stepOf(dates('2020-Q1', '2020-Q2', '2020-Q3'))).toEqual({ months: 3, milliseconds: 0 })
  expect(stepOf(dates('2019', '2020', '2021'))).toEqual({ months: 12, milliseconds: 0 })
  expect(stepOf(dates('2020-02-01', '2020-03-01')).months).toBe(1)
})

it('stepsBetween is a fraction where a date is off the step, and below 0 backwards', () => {
  const [from, to] = dates('2020-01-01', '2020-01-02 12:00') as [Date, Date]
  const day = { months: 0, milliseconds: 24 * 3600 * 1000 }
  expect([stepsBetween(from, to, day), stepsBetween(to, from, day)]).toEqual([1.5, -1.5])
})
