import { expect } from 'vitest'
import { readDates } from '../../src/forecast/date_form.js'
import { type TimeAxis, timeAxis } from '../../src/forecast/time_axis.js'

export const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]

export type Draw = (count: number) => number

/** Seeded, so that a failure can be repeated. */
export function drawer(seed: number): Draw {
  let state = seed
  return (count) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * count)
  }
}

/** Clock times that repeat in a way: `count` of them from a start. */
export interface Way {
  readonly name: string
  /** How much of a date its texts must have. */
  readonly unit: 'second' | 'minute' | 'day' | 'month' | 'quarter' | 'year'
  readonly times: (start: number, count: number) => number[]
}

export const evenly = (name: string, step: number, unit: Way['unit']): Way => {
  const snap = unit === 'day' ? DAY : Math.min(step, DAY)
  const times = (start: number, count: number) =>
    Array.from({ length: count }, (_, k) => Math.floor(start / snap) * snap + k * step)
  return { name, unit, times }
}

export const filtered = (
  name: string,
  step: number,
  keeps: (date: Date) => boolean,
  unit: Way['unit'] = 'minute',
): Way => {
  const times = (start: number, count: number) => {
    const all: number[] = []
    for (let time = Math.floor(start / DAY) * DAY; all.length < count; time += step) {
      if (keeps(new Date(time))) all.push(time)
    }
    return all
  }
  return { name, unit, times }
}

export const byMonth = (
  name: string,
  months: number,
  day: (year: number, month: number) => number,
  unit: Way['unit'],
): Way => {
  const times = (start: number, count: number) =>
    Array.from({ length: count }, (_, k) => {
      const first = new Date(start)
      const month = new Date(Date.UTC(first.getUTCFullYear(), 3 * Math.floor(first.getUTCMonth() / 3) + k * months, 1))
      return Date.UTC(month.getUTCFullYear(), month.getUTCMonth(), day(month.getUTCFullYear(), month.getUTCMonth()))
    })
  return { name, unit, times }
}

export const isWorkday = (date: Date) => date.getUTCDay() % 6 > 0
export const minutes = (date: Date) => date.getUTCHours() * 60 + date.getUTCMinutes()
export const lastDay = (year: number, month: number) => new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
/** The last day of a month that `isRight`, or the last one up to `most`. */
export const lastThat = (isRight: (date: Date) => boolean, most = 31) => {
  return (year: number, month: number) => {
    let day = Math.min(most, lastDay(year, month))
    while (!isRight(new Date(Date.UTC(year, month, day)))) day--
    return day
  }
}

export const WAYS: readonly Way[] = [
  ...[1, 5, 10, 30].map((seconds) => evenly(`${seconds} s`, seconds * 1000, 'second')),
  ...[1, 5, 10, 15, 20, 30].map((each) => evenly(`${each} minutes`, each * MINUTE, 'minute')),
  ...[1, 2, 3, 4, 6, 8, 12, 36].map((hours) => evenly(`${hours} h`, hours * HOUR, 'minute')),
  ...[1, 2, 7, 14, 28].map((days) => evenly(`${days} days`, days * DAY, 'day')),
  filtered('working days', DAY, isWorkday, 'day'),
  filtered('days without Sundays', DAY, (date) => date.getUTCDay() > 0, 'day'),
  filtered('trading hours', HOUR, (date) => isWorkday(date) && Math.abs(date.getUTCHours() - 13) <= 3),
  filtered(
    'half hours of trading',
    30 * MINUTE,
    (date) => isWorkday(date) && minutes(date) >= 570 && minutes(date) < 960,
  ),
  filtered('hours of every day', HOUR, (date) => date.getUTCHours() >= 6 && date.getUTCHours() < 22),
  filtered('three times a day', HOUR, (date) => [8, 12, 18].includes(date.getUTCHours())),
  ...[1, 3, 12].flatMap((months) => [
    ...[1, 15, 28, 30].map((day) =>
      byMonth(`${months} months, day ${day}`, months, (year, month) => Math.min(day, lastDay(year, month)), 'day'),
    ),
    byMonth(`${months} months, their end`, months, lastDay, 'day'),
    byMonth(`${months} months, last working day`, months, lastThat(isWorkday), 'day'),
    byMonth(
      `${months} months, third Friday`,
      months,
      lastThat((date) => date.getUTCDay() === 5, 21),
      'day',
    ),
    byMonth(
      `${months} months, last Monday`,
      months,
      lastThat((date) => date.getUTCDay() === 1),
      'day',
    ),
  ]),
  byMonth('months', 1, () => 1, 'month'),
  byMonth('quarters', 3, () => 1, 'quarter'),
]
export const two = (value: number) => String(value).padStart(2, '0')

/** The axes of a column that have the least gaps. */
export function axisOf(texts: readonly string[]): TimeAxis {
  const read = readDates(texts)
  if (typeof read === 'number') throw new Error(`${texts[read]} fits no form`)
  const axes = read.map(timeAxis).filter((axis): axis is TimeAxis => 'places' in axis)
  return axes.sort((a, b) => a.irregular - b.irregular)[0] as TimeAxis
}

/** Shows the first step alone whose text is another. */
export function expectTexts(axis: TimeAxis, all: readonly string[], context = ''): void {
  const step = all.findIndex((text, index) => axis.text(index) !== text)
  expect(step < 0 ? undefined : [step, axis.text(step)], context).toEqual(step < 0 ? undefined : [step, all[step]])
}
