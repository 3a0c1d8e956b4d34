const DAY = 24 * 3600 * 1000

/**
 * The dates that follow: months later where all dates have one day of the month, else by the usual number of
 * milliseconds between them. Undefined where a date is not in ISO 8601's calendar form, such as 2020-04-01.
 */
export function futureDates(dates: readonly string[], count: number): Date[] | undefined {
  const known = parsedDates(dates)
  const last = known?.at(-1)
  if (known === undefined || last === undefined) return undefined
  const steps = known.slice(1).map((date, k) => date.getTime() - known[k]!.getTime())
  const usual = steps.toSorted((a, b) => a - b)[steps.length >> 1] ?? DAY
  const monthly = usual >= 28 * DAY && known.every((date) => date.getUTCDate() === last.getUTCDate())
  const months = Math.round(usual / (30.44 * DAY))
  return Array.from({ length: count }, (_, k) => {
    const date = new Date(last)
    if (monthly) date.setUTCMonth(date.getUTCMonth() + (k + 1) * months)
    else date.setTime(date.getTime() + (k + 1) * usual)
    return date
  })
}

/** The dates as UTC; undefined where one of them is in no calendar form. */
export function parsedDates(dates: readonly string[]): Date[] | undefined {
  const parsed = dates.map((text) => (/^\d{4}-\d{2}-\d{2}/.test(text) ? new Date(text) : new Date(Number.NaN)))
  return parsed.some((date) => Number.isNaN(date.getTime())) ? undefined : parsed
}
