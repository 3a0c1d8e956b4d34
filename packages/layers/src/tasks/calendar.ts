import { checkArguments } from '@cudnn-rnn/canonical/rules'
import { DATES } from './time_series.js'
import { upperMedian } from './upper_median.js'

const HOUR = 3600 * 1000
const DAY = 24 * HOUR
const YEAR = 365.2425 * DAY

/** The features of dates that a forecaster reads besides the season: weekdays of steps below a day, the time of the year of days and weeks. */
export type Calendar = 'none' | 'week' | 'year'

/** Fewer repetitions in the training part say nothing about the next. */
const REPETITIONS = 2

/** The milliseconds between dates: the upper median. */
export function usualStep(dates: readonly Date[]): number {
  const steps = dates.slice(1).map((date, index) => date.getTime() - dates[index].getTime())
  return upperMedian(steps) ?? DAY
}

/** The calendar that helps a series of such dates. */
export function calendarOf(dates: readonly Date[] | undefined): Calendar {
  if (dates === undefined || dates.length < 2) return 'none'
  const step = usualStep(dates)
  const span = dates[dates.length - 1].getTime() - dates[0].getTime()
  if (step < DAY) return span >= REPETITIONS * 7 * DAY ? 'week' : 'none'
  return step <= 8 * DAY && span >= REPETITIONS * YEAR ? 'year' : 'none'
}

/** Numbers of one date: of a week seven weekdays and three waves, of a year two waves. */
export const CALENDAR_SIZES: Readonly<Record<Calendar, number>> = { none: 0, week: 13, year: 4 }

/** The numbers of a date; as many as {@link CALENDAR_SIZES} specifies. */
export function calendarFeatures(calendar: Calendar, date: Date): number[] {
  if (calendar === 'none') return []
  const time = date.getTime()
  if (calendar === 'year') return waves(time / YEAR, 2)
  // 1970-01-05 was a Monday.
  const week = (time - 4 * DAY) / (7 * DAY)
  const weekday = (date.getUTCDay() + 6) % 7
  return [...Array.from({ length: 7 }, (_, day) => (day === weekday ? 1 : 0)), ...waves(week, 3)]
}

function waves(turns: number, count: number): number[] {
  return Array.from({ length: count }, (_, k) => 2 * Math.PI * (k + 1) * turns).flatMap((angle) => [
    Math.sin(angle),
    Math.cos(angle),
  ])
}

/** The season that steps of this length usually have; 1 for none. */
const SEASONS: readonly (readonly [from: number, to: number, season: number])[] = [
  [9 * 60 * 1000, 11 * 60 * 1000, 144],
  [14 * 60 * 1000, 16 * 60 * 1000, 96],
  [29 * 60 * 1000, 31 * 60 * 1000, 48],
  [HOUR, HOUR, 24],
  [DAY, DAY, 7],
  [7 * DAY, 7 * DAY, 52],
  [28 * DAY, 31 * DAY, 12],
  [89 * DAY, 92 * DAY, 4],
]

/** Dates that lack more of their steps than this have hours or days without values, such as nights and weekends. */
const GAPS = 0.1

/**
 * The steps of a season as dates let expect: 12 for months, 7 for days, 5 for working days, 7 for the hours from 10 to 16.
 *
 * @example
 * ```ts
 * import { seasonOf } from '@cudnn-rnn/rnn/tasks'
 *
 * const months = Array.from({ length: 24 }, (_, month) => new Date(Date.UTC(2024, month, 1)))
 * console.log(seasonOf(months)) // 12
 * ```
 */
export function seasonOf(dates: readonly Date[]): number {
  const { dates: own } = checkArguments('find a season', { dates }, { dates: DATES })
  const step = usualStep(own)
  const season = SEASONS.find(([from, to]) => step >= from && step <= to)?.[2] ?? 1
  const span = own.length < 2 ? 0 : own[own.length - 1].getTime() - own[0].getTime()
  if (season === 1 || step > DAY || own.length > (1 - GAPS) * (span / step)) return season
  const counts = new Map<number, number>()
  for (const date of own) {
    // 1970-01-05 was a Monday.
    const period = step < DAY ? Math.floor(date.getTime() / DAY) : Math.floor((date.getTime() - 4 * DAY) / (7 * DAY))
    counts.set(period, (counts.get(period) ?? 0) + 1)
  }
  return upperMedian([...counts.values()]) ?? season
}
