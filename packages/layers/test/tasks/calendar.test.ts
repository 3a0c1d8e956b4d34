import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { CALENDAR_SIZES, calendarFeatures, calendarOf, seasonOf, usualStep } from '../../src/tasks/calendar.js'

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]
const every = (step: number, count: number, from = Date.UTC(2024, 0, 1)) =>
  Array.from({ length: count }, (_, k) => new Date(from + k * step))
const months = (count: number) => Array.from({ length: count }, (_, k) => new Date(Date.UTC(2020, k, 1)))

describe('usualStep', () => {
  it('is the median, which a gap does not change', () => {
    expect(usualStep([...every(DAY, 5), new Date(Date.UTC(2024, 5, 1))])).toBe(DAY)
    expect(usualStep(every(HOUR, 2))).toBe(HOUR)
  })

  it.each([0, 1])('is a day for %i dates', (count) => {
    expect(usualStep(every(HOUR, count))).toBe(DAY)
  })
})

describe('calendarOf', () => {
  it.each([
    ['no dates', undefined, 'none'],
    ['one date', every(DAY, 1), 'none'],
    ['hours of 13 days', every(HOUR, 13 * 24), 'none'],
    ['hours of two weeks', every(HOUR, 14 * 24 + 1), 'week'],
    ['days of 20 months', every(DAY, 600), 'none'],
    ['days of two years', every(DAY, 732), 'year'],
    ['weeks of two years', every(7 * DAY, 106), 'year'],
    ['months of ten years', months(120), 'none'],
  ] as const)('of %s', (_, dates, expected) => {
    expect(calendarOf(dates)).toBe(expected)
  })
})

describe('calendarFeatures', () => {
  it.each(['none', 'week', 'year'] as const)('has the size of %s', (calendar) => {
    for (const date of every(5 * HOUR, 50)) {
      const numbers = calendarFeatures(calendar, date)
      expect(numbers).toHaveLength(CALENDAR_SIZES[calendar])
      for (const number of numbers) expect(Math.abs(number)).toBeLessThanOrEqual(1)
    }
  })

  it('marks the weekday from Monday on, in UTC, and begins the waves at its midnight', () => {
    const monday = new Date('2024-01-01T00:00:00Z')
    const waves = calendarFeatures('week', monday).slice(7)
    expect(waves).toEqual([0, 1, 0, 1, 0, 1].map((value) => expect.closeTo(value, 9)))
    const weekday = (text: string) => calendarFeatures('week', new Date(text)).slice(0, 7).indexOf(1)
    expect(weekday('2024-01-01T23:59:59Z')).toBe(0)
    expect(weekday('2024-01-07T00:00:00Z')).toBe(6)
    expect(weekday('2024-01-06T12:00:00Z')).toBe(5)
  })

  it.each([
    ['week', 7 * DAY],
    ['year', 365.2425 * DAY],
  ] as const)('%s repeats after its period and not before', (calendar, period) => {
    const [now, later, half] = [0, period, period / 2].map((apart) =>
      calendarFeatures(calendar, new Date(Date.UTC(2023, 4, 17, 5) + apart)),
    )
    const isClose = (a: number[] = [], b: number[] = []) => a.every((value, k) => Math.abs(value - (b[k] ?? 9)) < 1e-6)
    expect([isClose(now, later), isClose(now, half)]).toEqual([true, false])
  })
})

describe('seasonOf', () => {
  it.each([
    [10 * MINUTE, 144],
    [15 * MINUTE, 96],
    [30 * MINUTE, 48],
    [HOUR, 24],
    [DAY, 7],
    [7 * DAY, 52],
    [28 * DAY, 12],
    [91 * DAY, 4],
    [20 * MINUTE, 1],
    [2 * HOUR, 1],
    [365 * DAY, 1],
  ])('of steps of %d ms is %i', (step, season) => {
    expect(seasonOf(every(step, 30))).toBe(season)
  })

  it('of months, which are of unequal length, is 12', () => {
    expect(seasonOf(months(30))).toBe(12)
  })

  it.each([
    ['days from Monday to Friday', every(DAY, 100).filter((date) => date.getUTCDay() % 6 > 0), 5],
    ['hours from 10 to 16', every(HOUR, 400).filter((date) => Math.abs(date.getUTCHours() - 13) < 4), 7],
    ['quarters of an hour from 8 to 12', every(15 * MINUTE, 900).filter((date) => date.getUTCHours() >> 2 === 2), 16],
    ['days of which a few are missing', every(DAY, 100).filter((_, day) => day % 17 > 0), 7],
  ])('counts %s', (_, dates, season) => {
    expect(seasonOf(dates)).toBe(season)
  })

  it.each([[['2024-01-01']], [[new Date(Number.NaN)]], [3]])('refuses %o', (dates) => {
    expect(() => seasonOf(dates as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  })
})
