const DAY = 24 * 3600 * 1000

/** A date in ISO 8601's calendar form, of which the time and the day may be left out, or a quarter such as 2020-Q3; as UTC. */
export function parsedDate(text: string): Date | undefined {
  const quarter = /^(\d{4})-?Q([1-4])$/.exec(text.trim())
  if (quarter !== null) return new Date(Date.UTC(Number(quarter[1]), 3 * (Number(quarter[2]) - 1), 1))
  const match =
    /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?(Z|[+-]\d{2}:\d{2})?)?)?)?$/.exec(
      text.trim(),
    )
  if (match === null) return undefined
  const [year, month = 1, day = 1, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => part && Number(part))
  // A date has milliseconds; further digits are cut off.
  const milliseconds = Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'))
  const date = new Date(
    Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second), milliseconds),
  )
  // 2020-02-31 would be in March, 13:75 at 14:15, and the year 50 would be 1950.
  const read = [
    ...[date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()],
    ...[date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()],
  ]
  const given = [year, month, day, hour, minute, second]
  if (read.some((part, index) => part !== Number(given[index]))) return undefined
  const [, sign, hours, minutes] = /^([+-])(\d{2}):(\d{2})$/.exec(match[8] ?? '') ?? []
  if (sign === undefined) return date
  const offset = (Number(hours) * 60 + Number(minutes)) * 60 * 1000
  return new Date(date.getTime() - (sign === '+' ? offset : -offset))
}

/** All dates; undefined where one of the texts is none. */
export function parsedDates(texts: readonly string[]): Date[] | undefined {
  const dates = texts.map(parsedDate)
  return dates.includes(undefined) ? undefined : (dates as Date[])
}

/** The regular step of dates: so many months, or so many milliseconds. */
export interface DateStep {
  readonly months: number
  readonly milliseconds: number
  /** The day of the month, where months may be shorter: 31 for their ends, 30 for the end of February as well. */
  readonly day?: number
}

/**
 * The step that most dates are apart: months where all dates have one day of the month, or the last day of a shorter month,
 * else milliseconds.
 */
export function stepOf(dates: readonly Date[]): DateStep {
  const steps = dates.slice(1).map((date, k) => date.getTime() - dates[k].getTime())
  // The upper median, a step that occurs: the mean of two would be one between months of 30 and of 31 days.
  const usual = steps.toSorted((a, b) => a - b)[steps.length >> 1] ?? DAY
  const day = Math.max(...dates.map((date) => date.getUTCDate()))
  const isMonthly = usual >= 28 * DAY && dates.every((date) => date.getUTCDate() === Math.min(day, daysOfMonth(date)))
  if (!isMonthly) return { months: 0, milliseconds: usual }
  return { months: Math.round(usual / (30.44 * DAY)), milliseconds: 0, ...(day > 28 && { day }) }
}

function daysOfMonth(date: Date): number {
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
}

/** Regular dates. */
export interface StepDates {
  readonly dates: readonly Date[]
  readonly step: DateStep
}

/** The date so many steps after `date`. */
export function afterSteps(date: Date, { months, milliseconds, day }: DateStep, count: number): Date {
  const later = new Date(date)
  if (months === 0) {
    later.setTime(later.getTime() + count * milliseconds)
    return later
  }
  // The first, as a month without the day would become the next.
  later.setUTCDate(1)
  later.setUTCMonth(later.getUTCMonth() + count * months)
  later.setUTCDate(Math.min(day ?? date.getUTCDate(), daysOfMonth(later)))
  return later
}

/** The number of steps between two dates; not an integer where `to` is off the step. */
export function stepsBetween(from: Date, to: Date, { months, milliseconds }: DateStep): number {
  if (months === 0) return (to.getTime() - from.getTime()) / milliseconds
  const apart = 12 * (to.getUTCFullYear() - from.getUTCFullYear()) + to.getUTCMonth() - from.getUTCMonth()
  return apart / months
}

/** `2020-04-01`, with the time where dates have one. */
export function dateText(date: Date, { months, milliseconds }: DateStep): string {
  const text = date.toISOString()
  return months > 0 || milliseconds % DAY === 0 ? text.slice(0, 10) : text.slice(0, 16)
}
