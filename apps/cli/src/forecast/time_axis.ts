import type { ReadDates } from './date_form.js'
import { clockOfOffsets, clockShowing, fixedClock, momentOf, type ZoneClock } from './time_zone.js'

const DAY = 24 * 3600 * 1000
const WEEK = 7 * DAY
/** 1970-01-05 was a Monday. */
const MONDAY = 4 * DAY

/** Dates as an axis of equal steps: hours, working days, months. */
export interface TimeAxis {
  /** The step of each row of the file, counted from 0 in order of time: rows that the file lacks leave gaps. */
  readonly places: readonly number[]
  /** Steps from the first to the last row. */
  readonly length: number
  /** The clock time of a step, as if it were UTC; of steps after the last row as well. */
  date(step: number): Date
  /** The date of a step in the form of the file. */
  text(step: number): string
  /** Steps without a row, and rows off the step: an axis that explains the dates has few. */
  readonly irregular: number
}

/** Why dates are not an axis: two rows that are in one step, or a gap. Rows are counted from 0. */
export interface NotAnAxis {
  readonly rows: readonly [number, number]
  readonly reason: string
}

/** Steps for each row of the file, at most: dates farther apart are a mistake. */
export const MAX_SPARSITY = 20

/**
 * The axis of dates in any order. Dates repeat in several ways (months; equal times; the hours of a day and the days of
 * a week that the dates have): the one that leaves the fewest gaps explains them.
 */
export function timeAxis({ clocks, offsets, write }: ReadDates): TimeAxis | NotAnAxis {
  const { zone, moments } = momentsOf(clocks, offsets)
  const order = [...moments.keys()].sort((a, b) => moments[a] - moments[b])
  const twice = order.findIndex((row, n) => n > 0 && moments[row] === moments[order[n - 1]])
  if (twice > 0) return { rows: rowsOf(order, twice), reason: 'have one date' }
  const sorted = order.map((row) => moments[row])
  const shown = order.map((row) => clocks[row])
  const isClockOrder = shown.every((clock, n) => n === 0 || clock > shown[n - 1])
  // Clocks, which hours of trading follow, and moments, which a sensor follows, differ if clocks are changed.
  const onClock = isClockOrder ? [...stepsOfMonths(shown), ...evenSteps(shown), ...stepsOfCalendar(shown)] : []
  const isChanged = sorted.some((moment, n) => shown[n] - moment !== shown[0] - sorted[0])
  const onMoments = isChanged ? evenSteps(sorted) : []
  const candidates = [
    ...onClock.map((steps) => ({ steps, clockAt: (step: number) => steps.at(step), momentAt: undefined })),
    ...onMoments.map((steps) => ({
      steps,
      clockAt: (step: number) => steps.at(step) + zone.offsetAt(steps.at(step)),
      momentAt: steps.at,
    })),
  ].filter(({ steps }) => steps.places[steps.places.length - 1] < MAX_SPARSITY * clocks.length)
  const [best] = candidates.sort((a, b) => a.steps.irregular - b.steps.irregular)
  if (best === undefined) return widestPair(sorted, order)
  if (best.steps.offStep !== undefined) {
    return { rows: rowsOf(order, best.steps.offStep), reason: 'are off the usual step, as are many others' }
  }
  const { steps, clockAt, momentAt } = best
  const places = new Array<number>(clocks.length)
  for (const [n, row] of order.entries()) places[row] = steps.places[n]
  const length = steps.places[steps.places.length - 1] + 1
  const rows = new Map(places.map((place, row) => [place, row]))
  const clockOf = (step: number) => {
    const row = rows.get(step)
    return row === undefined ? clockAt(step) : clocks[row]
  }
  return {
    places,
    length,
    irregular: steps.irregular,
    date: (step) => new Date(clockOf(step)),
    text(step) {
      const clock = clockOf(step)
      return write(clock, clock - (momentAt?.(step) ?? momentOf(clock, zone)))
    },
  }
}

function rowsOf(order: readonly number[], n: number): readonly [number, number] {
  const [a, b] = [order[n - 1], order[n]]
  return [Math.min(a, b), Math.max(a, b)]
}

/** The rows farthest from the usual step. */
function widestPair(sorted: readonly number[], order: readonly number[]): NotAnAxis {
  const steps = differences(sorted)
  const usual = upperMedian(steps)
  const close = steps.findIndex((step) => step < usual / 2)
  const n = close >= 0 ? close : steps.indexOf(Math.max(...steps))
  const reason = close >= 0 ? 'are closer than the usual step' : 'are many usual steps apart'
  return { rows: rowsOf(order, n + 1), reason }
}

/** The moment of each row in UTC, by the offsets of the file or by an hour that its clocks show twice. */
function momentsOf(
  clocks: readonly number[],
  offsets: readonly number[] | undefined,
): { readonly zone: ZoneClock; readonly moments: readonly number[] } {
  if (offsets !== undefined) {
    return { zone: clockOfOffsets(clocks, offsets), moments: clocks.map((clock, row) => clock - offsets[row]) }
  }
  const plain = { zone: fixedClock(0), moments: clocks }
  // Days have no hours that occur twice.
  if (clocks.every((clock) => (clock - clocks[0]) % DAY === 0)) return plain
  const rises = differences(clocks).filter((step) => step > 0).length
  const isNewestFirst = rises < clocks.length / 2
  const inOrder = isNewestFirst ? clocks.toReversed() : clocks
  const zone = clockShowing(inOrder)
  if (zone === undefined) return plain
  const moments: number[] = []
  for (const clock of inOrder) moments.push(momentOf(clock, zone, moments.at(-1)))
  if (differences(moments).some((step) => step <= 0)) return plain
  return { zone, moments: isNewestFirst ? moments.reverse() : moments }
}

/** A way in which dates repeat. */
interface Steps {
  /** The step of each date, in order of time. */
  readonly places: readonly number[]
  at(step: number): number
  readonly irregular: number
  /** The first date off the step, where so many are off it that those to forecast would drift away: two days of each month. */
  readonly offStep?: number | undefined
}

/** Steps in days are not equal if a larger share of them is off their step, and all together drift further. */
const OFF_STEP = { share: 0.2, drift: 0.01 }

function evenSteps(times: readonly number[]): Steps[] {
  const steps = differences(times)
  const usual = upperMedian(steps)
  const places = [0]
  // From one date to the next, as a clock that runs fast would drift away from the first date's.
  for (const step of steps) places.push(places[places.length - 1] + Math.round(step / usual))
  if (!areDistinct(places)) return []
  const off = steps.filter((step) => step % usual !== 0).length
  // Clocks of sensors are never exact; days are.
  const areDays = steps.every((step) => step % DAY === 0)
  const span = times[times.length - 1] - times[0]
  const drift = Math.abs(span - places[places.length - 1] * usual)
  const isOff = off > OFF_STEP.share * steps.length && drift > OFF_STEP.drift * span
  const found = stepsWith(times, places, off, (time, count) => time + count * usual)
  return [{ ...found, ...(areDays && isOff && { offStep: 1 + steps.findIndex((step) => step % usual !== 0) }) }]
}

/**
 * Months, quarters or years: on one day of the month, its end, its first or last working day, or a day of the week such as the
 * third or the last Friday.
 */
function stepsOfMonths(times: readonly number[]): Steps[] {
  const usual = upperMedian(differences(times))
  if (usual < 28 * DAY) return []
  const count = Math.max(1, Math.round(usual / (30.44 * DAY)))
  const months = times.map((time) => 12 * new Date(time).getUTCFullYear() + new Date(time).getUTCMonth())
  const places = months.map((month) => Math.round((month - months[0]) / count))
  if (!areDistinct(places)) return []
  const days = times.map((time) => new Date(time).getUTCDate())
  const ofMonth = (day: number) => (month: number) => Math.min(day, daysOfMonth(month))
  const weekday = upperMedian(times.map((time) => new Date(time).getUTCDay()))
  // The largest day, as shorter months lack it; the upper median if dates follow no rule.
  const rules = [
    ofMonth(days.reduce((a, b) => Math.max(a, b))),
    lastWorkingDay,
    firstWorkingDay,
    nthOfWeek(weekday, Math.ceil(upperMedian(days) / 7)),
    lastOfWeek(weekday),
    ofMonth(upperMedian(days)),
  ]
  const offOf = (rule: (month: number) => number) => months.filter((month, n) => rule(month) !== days[n]).length
  const offs = rules.map(offOf)
  const off = Math.min(...offs)
  const rule = rules[offs.indexOf(off)]
  const next = (time: number, ahead: number) => {
    const month = 12 * new Date(time).getUTCFullYear() + new Date(time).getUTCMonth() + ahead * count
    return Date.UTC(2000, month - 12 * 2000, rule(month)) + mod(time, DAY)
  }
  const astray = months.filter((month, n) => month !== months[0] + places[n] * count).length
  return [stepsWith(times, places, off + astray, next)]
}

function daysOfMonth(month: number): number {
  return new Date(Date.UTC(2000, month + 1 - 12 * 2000, 0)).getUTCDate()
}

function weekdayOf(month: number, day: number): number {
  return new Date(Date.UTC(2000, month - 12 * 2000, day)).getUTCDay()
}

function lastWorkingDay(month: number): number {
  const last = daysOfMonth(month)
  return last - ({ 0: 2, 6: 1 }[weekdayOf(month, last)] ?? 0)
}

function firstWorkingDay(month: number): number {
  return 1 + ({ 0: 1, 6: 2 }[weekdayOf(month, 1)] ?? 0)
}

function nthOfWeek(weekday: number, n: number): (month: number) => number {
  return (month) => 1 + mod(weekday - weekdayOf(month, 1), 7) + 7 * (n - 1)
}

function lastOfWeek(weekday: number): (month: number) => number {
  return (month) => daysOfMonth(month) - mod(weekdayOf(month, daysOfMonth(month)) - weekday, 7)
}

/** A time of the day or of the week is of the calendar if it occurs this often, relative to the most frequent one. */
const FREQUENT = 0.25
/** From so many weeks on, times of the week are counted, not times of the day and days of the week: Fridays may end early. */
const WEEKS = 8
/** How many times as many gaps another way may leave: a missing hour or two do not make a calendar. */
const CALENDAR_COST = 2

/** The hours of a day and the days of a week that the dates have, such as 10:00 to 16:00 from Monday to Friday. */
function stepsOfCalendar(times: readonly number[]): Steps[] {
  const last = times[times.length - 1]
  const span = last - times[0]
  // Less than two days repeat nothing.
  if (span < 2 * DAY) return []
  const hours = frequent(times.map((time) => mod(time - MONDAY, DAY)))
  const days = frequent(times.map((time) => Math.floor(mod(time - MONDAY, WEEK) / DAY)))
  // One week without a Wednesday repeats nothing; one without Saturday and Sunday has a weekend.
  const weekOf = (time: number) => Math.floor((time - MONDAY) / WEEK)
  const hasWeekend = weekOf(times[0]) < weekOf(last) && !days.some((day) => day > 4)
  const openDays = span >= 2 * WEEK ? days : hasWeekend ? [0, 1, 2, 3, 4] : [0, 1, 2, 3, 4, 5, 6]
  const slots =
    span < WEEKS * WEEK
      ? openDays.flatMap((day) => hours.map((time) => day * DAY + time))
      : frequent(times.map((time) => mod(time - MONDAY, WEEK)))
  if ((span / WEEK) * slots.length > MAX_SPARSITY * times.length) return []
  /** Index of the first slot that is not before `time`. */
  const numberOf = (time: number) => weekOf(time) * slots.length + firstFrom(slots, mod(time - MONDAY, WEEK))
  const slotAt = (n: number) => MONDAY + Math.floor(n / slots.length) * WEEK + slots[mod(n, slots.length)]
  const all = new Set(times)
  for (let n = numberOf(times[0]); slotAt(n) <= last; n++) all.add(slotAt(n))
  const steps = new Map([...all].sort((a, b) => a - b).map((time, step) => [time, step]))
  const places = times.map((time) => steps.get(time) ?? 0)
  const off = times.filter((time) => slotAt(numberOf(time)) !== time).length
  const found = stepsWith(times, places, off, (time, count) => slotAt(numberOf(time + 1) + count - 1))
  return [{ ...found, irregular: CALENDAR_COST * found.irregular }]
}

/** The values that occur often, in order. */
function frequent(places: readonly number[]): number[] {
  const counts = new Map<number, number>()
  for (const place of places) counts.set(place, (counts.get(place) ?? 0) + 1)
  const most = [...counts.values()].reduce((a, b) => Math.max(a, b))
  return [...counts].flatMap(([place, count]) => (count >= FREQUENT * most ? [place] : [])).sort((a, b) => a - b)
}

/** @param next the time so many steps after one of the dates. */
function stepsWith(
  times: readonly number[],
  places: readonly number[],
  off: number,
  next: (time: number, count: number) => number,
): Steps {
  const last = places.length - 1
  return {
    places,
    irregular: places[last] - last + off,
    at(step) {
      // The nearest date that is not after the step.
      const n = firstFrom(places, step + 1) - 1
      return places[n] === step ? times[n] : next(times[n], step - places[n])
    },
  }
}

/** The index of the first of sorted numbers that is `value` or more; their count if there is none. */
function firstFrom(sorted: readonly number[], value: number): number {
  let [begin, end] = [0, sorted.length]
  while (begin < end) {
    const middle = (begin + end) >> 1
    if (sorted[middle] < value) begin = middle + 1
    else end = middle
  }
  return begin
}

function areDistinct(places: readonly number[]): boolean {
  return places.every((place, n) => n === 0 || place > places[n - 1])
}

function differences(times: readonly number[]): number[] {
  return times.slice(1).map((time, n) => time - times[n])
}

/** A step that occurs: the mean of two would be one between months of 30 and of 31 days. A day if there are none. */
function upperMedian(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? DAY
}

function mod(value: number, by: number): number {
  return ((value % by) + by) % by
}
