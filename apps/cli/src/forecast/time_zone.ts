const MINUTE = 60 * 1000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export const ZONE_OFFSET_PATTERN = String.raw`Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?`

/** Milliseconds ahead of UTC; undefined if the text is not an offset. */
export function zoneOffset(text: string): number | undefined {
  const [, sign, hours, minutes = '0'] = /^([+-])(\d{2}):?(\d{2})?$/.exec(text) ?? []
  if (sign === undefined) return 0
  if (Number(hours) > 14 || Number(minutes) > 59) return undefined
  return (sign === '+' ? 1 : -1) * (Number(hours) * HOUR + Number(minutes) * MINUTE)
}

/** An offset in the form of another one. */
export function zoneOffsetText(model: string, offset: number): string {
  if (!/^[+-]/.test(model)) return model
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const [hours, minutes] = [Math.abs(offset) / HOUR, (Math.abs(offset) / MINUTE) % 60]
  const rest = model.length > 3 || minutes > 0 ? `${model.length === 5 ? '' : ':'}${two(minutes)}` : ''
  return `${offset < 0 ? '-' : '+'}${two(hours)}${rest}`
}

/** The clocks of a place: how far they are ahead of UTC at each moment. */
export interface ZoneClock {
  /** In milliseconds, of a moment in UTC. */
  offsetAt(moment: number): number
}

/** A clock that is never changed. */
export function fixedClock(offset: number): ZoneClock {
  return { offsetAt: () => offset }
}

const zones = new Map<string, ZoneClock>()

/** Formatting takes microseconds: the clocks of a day without a change are read at its ends alone. */
function zoneClock(timeZone: string): ZoneClock {
  const known = zones.get(timeZone)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  const exact = (moment: number) => {
    const name = format.formatToParts(moment).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    return zoneOffset(name.slice('GMT'.length) || 'Z') ?? 0
  }
  const days = new Map<number, number>()
  const atMidnight = (day: number) => {
    const offset = days.get(day) ?? exact(day * DAY)
    days.set(day, offset)
    return offset
  }
  const zone: ZoneClock = {
    offsetAt(moment) {
      const day = Math.floor(moment / DAY)
      const offset = atMidnight(day)
      return offset === atMidnight(day + 1) ? offset : exact(moment)
    },
  }
  zones.set(timeZone, zone)
  return zone
}

/** The moment in UTC of a clock time that is after `before`, where an hour that clocks show twice leaves a choice. */
export function momentOf(clock: number, zone: ZoneClock, before = Number.NEGATIVE_INFINITY): number {
  const candidates = [clock - zone.offsetAt(clock - DAY), clock - zone.offsetAt(clock + DAY)].sort((a, b) => a - b)
  const valid = candidates.filter((moment) => moment + zone.offsetAt(moment) === clock)
  // A time that the clocks skip exists nowhere: the offset before it.
  return valid.find((moment) => moment > before) ?? valid.at(-1) ?? candidates[0]
}

/** The most changes of clocks that are compared: forty distinguish all places. */
const COMPARED = 40

/** The clock of a place whose offsets are these, at these moments; the clock of the last offset if no place has them. */
export function clockOfOffsets(clocks: readonly number[], offsets: readonly number[]): ZoneClock {
  const changes = offsets.flatMap((offset, index) =>
    index > 0 && offset !== offsets[index - 1] ? [index - 1, index] : [],
  )
  const last = fixedClock(offsets[offsets.length - 1])
  if (changes.length === 0) return last
  const compared = [0, ...changes.slice(-COMPARED), offsets.length - 1]
  const [place] = placesWith((zone) => compared.every((n) => zone.offsetAt(clocks[n] - offsets[n]) === offsets[n]))
  return place ?? last
}

/**
 * The clock of a place that shows these times one after the other: an hour twice, where clocks are set back. Undefined if
 * there is none, as the times are in another order or not a clock's.
 */
export function clockShowing(clocks: readonly number[]): ZoneClock | undefined {
  const back = clocks.flatMap((clock, index) => (index > 0 && clock <= clocks[index - 1] ? [index] : []))
  if (back.length === 0 || back.some((n) => clocks[n - 1] - clocks[n] > 2 * HOUR)) return undefined
  const places = placesWith((zone) =>
    back.slice(-COMPARED).every((n) => {
      const before = momentOf(clocks[n - 1], zone)
      const moment = momentOf(clocks[n], zone, before)
      return moment > before && moment + zone.offsetAt(moment) === clocks[n]
    }),
  )
  // Hours that the times pass over may be missing, or are those that the clocks of one of the places skip.
  const steps = clocks.slice(1).map((clock, n) => clock - clocks[n])
  const usual = Math.min(...steps.filter((step) => step > 0).slice(0, 1000))
  const skips = steps.flatMap((step, n) => (step === usual + HOUR ? [n] : [])).slice(-COMPARED)
  let best: { zone: ZoneClock; explained: number } | undefined
  for (const zone of places) {
    const explained = skips.filter((n) => momentOf(clocks[n + 1], zone) - momentOf(clocks[n], zone) === usual).length
    if (best === undefined || explained > best.explained) best = { zone, explained }
  }
  return best?.zone
}

/** Compared first, as clocks of several places agree in the past: large cities whose clocks are or were changed. */
const COMMON = [
  ...['Europe/Berlin', 'Europe/London', 'Europe/Athens', 'Europe/Moscow', 'America/New_York', 'America/Chicago'],
  ...['America/Denver', 'America/Los_Angeles', 'America/Mexico_City', 'America/Sao_Paulo', 'America/Santiago'],
  ...['Australia/Sydney', 'Australia/Adelaide', 'Pacific/Auckland', 'Africa/Cairo', 'Asia/Jerusalem', 'Asia/Tehran'],
]

function* placesWith(fits: (zone: ZoneClock) => boolean): Generator<ZoneClock> {
  for (const name of [...COMMON, ...Intl.supportedValuesOf('timeZone')]) {
    const zone = zoneClock(name)
    if (fits(zone)) yield zone
  }
}
