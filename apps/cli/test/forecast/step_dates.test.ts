import { expect, it } from 'vitest'
import { afterSteps, dateText, parsedDate, stepOf, stepsBetween } from '../../src/forecast/step_dates.js'

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

it('stepsBetween counts months and times', () => {
  const [from, to] = dates('2020-01-01', '2021-03-01') as [Date, Date]
  expect(stepsBetween(from, to, { months: 1, milliseconds: 0 })).toBe(14)
  expect(stepsBetween(from, to, { months: 0, milliseconds: 24 * 3600 * 1000 })).toBe(425)
})
