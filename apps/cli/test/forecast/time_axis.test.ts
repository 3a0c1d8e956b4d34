import { expect, it } from 'vitest'
import { readDates } from '../../src/forecast/date_form.js'
import { type TimeAxis, timeAxis } from '../../src/forecast/time_axis.js'

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]

type Draw = (count: number) => number

/** Seeded, so that a failure can be repeated. */
function drawer(seed: number): Draw {
  let state = seed
  return (count) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * count)
  }
}

const pick = <Value>(draw: Draw, values: readonly Value[]): Value => values[draw(values.length)] as Value

/** Clock times that repeat in a way: `count` of them from a start. */
interface Way {
  readonly name: string
  /** How much of a date its texts must have. */
  readonly unit: 'second' | 'minute' | 'day' | 'month' | 'quarter' | 'year'
  readonly times: (start: number, count: number) => number[]
}

const evenly = (name: string, step: number, unit: Way['unit']): Way => {
  const snap = unit === 'day' ? DAY : Math.min(step, DAY)
  const times = (start: number, count: number) =>
    Array.from({ length: count }, (_, k) => Math.floor(start / snap) * snap + k * step)
  return { name, unit, times }
}

const filtered = (name: string, step: number, keeps: (date: Date) => boolean, unit: Way['unit'] = 'minute'): Way => {
  const times = (start: number, count: number) => {
    const all: number[] = []
    for (let time = Math.floor(start / DAY) * DAY; all.length < count; time += step) {
      if (keeps(new Date(time))) all.push(time)
    }
    return all
  }
  return { name, unit, times }
}

const byMonth = (
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

const isWorkday = (date: Date) => date.getUTCDay() % 6 > 0
const minutes = (date: Date) => date.getUTCHours() * 60 + date.getUTCMinutes()
const lastDay = (year: number, month: number) => new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
/** The last day of a month that `isRight`, or the last one up to `most`. */
const lastThat = (isRight: (date: Date) => boolean, most = 31) => {
  return (year: number, month: number) => {
    let day = Math.min(most, lastDay(year, month))
    while (!isRight(new Date(Date.UTC(year, month, day)))) day--
    return day
  }
}

const WAYS: readonly Way[] = [
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

type Write = (date: Date) => string
const two = (value: number) => String(value).padStart(2, '0')
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

const DAYS: readonly Write[] = [
  (date) => date.toISOString().slice(0, 10),
  (date) => date.toISOString().slice(0, 10).replaceAll('-', '/'),
  (date) => `${two(date.getUTCDate())}.${two(date.getUTCMonth() + 1)}.${date.getUTCFullYear()}`,
  (date) => `${date.getUTCDate()}.${date.getUTCMonth() + 1}.${two(date.getUTCFullYear() % 100)}`,
  (date) => `${date.getUTCMonth() + 1}/${date.getUTCDate()}/${date.getUTCFullYear()}`,
  (date) => `${two(date.getUTCDate())}/${two(date.getUTCMonth() + 1)}/${date.getUTCFullYear()}`,
  (date) => `${two(date.getUTCDate())}-${MONTHS[date.getUTCMonth()]}-${date.getUTCFullYear()}`,
  (date) => `${MONTHS[date.getUTCMonth()]} ${date.getUTCDate()}, ${date.getUTCFullYear()}`,
  (date) => date.toISOString().slice(0, 10).replaceAll('-', ''),
]
const MONTH_FORMS: readonly Write[] = [
  (date) => date.toISOString().slice(0, 7),
  (date) => `${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`,
  (date) => `${two(date.getUTCMonth() + 1)}/${date.getUTCFullYear()}`,
]
const HALF_DAY: Write = (date) =>
  `${date.getUTCHours() % 12 || 12}:${two(date.getUTCMinutes())} ${date.getUTCHours() < 12 ? 'AM' : 'PM'}`

const NUMBERS: readonly Write[] = [(date) => String(date.getTime() / 1000), (date) => String(date.getTime())]
const FORMS: Readonly<Record<Way['unit'], readonly Write[]>> = {
  second: [
    (date) => date.toISOString(),
    (date) => date.toISOString().slice(0, 19),
    (date) => date.toISOString().slice(0, 19).replace('T', ' '),
    (date) => `${date.toISOString().slice(0, 19)}+05:30`,
    ...NUMBERS,
  ],
  minute: [
    ...DAYS.slice(0, -1).map(
      (day): Write =>
        (date) =>
          `${day(date)} ${date.toISOString().slice(11, 16)}`,
    ),
    (date) => `${(DAYS[4] as Write)(date)} ${HALF_DAY(date)}`,
    (date) => `${date.toISOString().slice(0, 16)}Z`,
    ...NUMBERS,
  ],
  day: [...DAYS, (date) => `${date.toISOString().slice(0, 10)}T00:00:00Z`],
  month: MONTH_FORMS,
  quarter: [
    (date) => `${date.getUTCFullYear()}-Q${Math.floor(date.getUTCMonth() / 3) + 1}`,
    (date) => `Q${Math.floor(date.getUTCMonth() / 3) + 1} ${date.getUTCFullYear()}`,
  ],
  year: [(date) => String(date.getUTCFullYear())],
}

const AHEAD = 12

/** The axes of a column that have the least gaps. */
function axisOf(texts: readonly string[]): TimeAxis {
  const read = readDates(texts)
  if (typeof read === 'number') throw new Error(`${texts[read]} fits no form`)
  const axes = read.map(timeAxis).filter((axis): axis is TimeAxis => 'places' in axis)
  return axes.sort((a, b) => a.irregular - b.irregular)[0] as TimeAxis
}

/** Shows the first step alone whose text is another. */
function expectTexts(axis: TimeAxis, all: readonly string[], context = ''): void {
  const step = all.findIndex((text, index) => axis.text(index) !== text)
  expect(step < 0 ? undefined : [step, axis.text(step)], context).toEqual(step < 0 ? undefined : [step, all[step]])
}

it.each(WAYS.map((way, n) => [way.name, way, n] as const))('continues %s in the form of the file', (_, way, n) => {
  const draw = drawer(20261128 + n)
  for (let drawn = 0; drawn < 25; drawn++) {
    // A week of trading, and not two centuries.
    const count = 80 + draw(way.unit === 'day' ? 40 : 300)
    const start = Date.UTC(1990 + draw(25), draw(12), 1 + draw(28), draw(24), draw(60), draw(60))
    const dates = way.times(start, count + AHEAD).map((time) => new Date(time))
    const last = dates[dates.length - 1]?.getUTCFullYear() ?? 0
    const write = pick(draw, FORMS[way.unit].slice(0, last < 2069 ? undefined : 3))
    const all = dates.map(write)
    // Days from 10 on do not show how those before are written.
    if (!all.slice(0, count).some((text) => /(?:^|\D)\d(?:\D|$)|\b0\d/.test(text.replace(/\d+:.*/, '')))) continue
    // Up to one row in 25 is not there; the first and the last are, as nothing else shows where the axis begins.
    const sparse = draw(2)
    const rows = [...Array(count).keys()].filter((k) => k === 0 || k === count - 1 || !sparse || draw(25) > 0)
    const order = pick(draw, ['oldest first', 'newest first', 'any'])
    if (order === 'newest first') rows.reverse()
    if (order === 'any') rows.sort(() => draw(3) - 1)
    const context = `${way.name}, draw ${drawn}: ${order}, ${rows.length} of ${count}, ${all[0]} to ${all[count - 1]}`
    const axis = axisOf(rows.map((k) => all[k] as string))
    expect(
      axis.places.findIndex((place, row) => place !== rows[row]),
      context,
    ).toBe(-1)
    expectTexts(axis, all, context)
  }
})

/** How far clocks of a place are ahead of UTC, by another way than the program's. */
function offsets(zone: string): (moment: number) => number {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  return (moment) => Date.parse(`${format.format(moment).replace(' ', 'T')}Z`) - moment
}

it.each([
  ['Europe/Berlin', 3],
  ['America/New_York', 3],
  ['America/Sao_Paulo', 1],
  ['Pacific/Auckland', 1],
])('follows the clocks of %s over their changes, with offsets and without', (zone, month) => {
  // Two changes to winter, of which one is ahead.
  const moments = Array.from({ length: 600 * 24 }, (_, k) => Date.UTC(2013, month, 1, 5) + k * HOUR)
  const offsetOf = offsets(zone)
  for (const hasOffset of [true, false]) {
    const all = moments.map((moment) => {
      const offset = offsetOf(moment)
      const clock = new Date(moment + offset).toISOString().slice(0, 16)
      const size = Math.abs(offset) / MINUTE
      return hasOffset ? `${clock}${offset < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}` : clock
    })
    expectTexts(axisOf(all.slice(0, 330 * 24)), all, `${zone} ${hasOffset}`)
  }
})

it('follows hours of trading over changes of clocks', () => {
  const offsetOf = offsets('America/New_York')
  const hours = (WAYS.find(({ name }) => name === 'trading hours') as Way).times(Date.UTC(2020, 0, 1), 2600)
  const texts = hours.map((clock) => {
    const offset = offsetOf(clock + 5 * HOUR)
    return `${new Date(clock).toISOString().slice(0, 16)}-0${-offset / HOUR}:00`
  })
  const axis = axisOf(texts.slice(0, 1700))
  expectTexts(axis, texts)
})

it.each([
  ['holidays', (text: string) => !/-(01-01|12-25|05-01)$/.test(text), 0],
  ['a Saturday of work', () => true, 1],
])('keeps a calendar of working days with %s', (_, keeps, extra) => {
  const days = (WAYS.find(({ name }) => name === 'working days') as Way).times(Date.UTC(2020, 0, 2), 500)
  const all = days.map((time) => new Date(time).toISOString().slice(0, 10))
  const rows = all.slice(0, 480).filter(keeps)
  const axis = axisOf(extra === 0 ? rows : [...rows, '2020-05-16'])
  expect(axis.length).toBe(480 + extra)
  expect(Array.from({ length: 20 }, (_, k) => axis.text(480 + extra + k))).toEqual(all.slice(480))
})

it.each([
  ['two rows of one date', ['2020-01-01', '2020-01-02', '2020-01-02', '2020-01-03'], [1, 2], 'have one date'],
  [
    'a row between two steps',
    ['2020-01-01 00:00', '2020-01-01 12:00', '2020-01-02 00:00', '2020-01-02 01:00', '2020-01-02 12:00'],
    [2, 3],
    'are closer than the usual step',
  ],
  ['a date of another century', ['2020-01-01', '2020-01-02', '2020-01-03', '1920-01-01'], [0, 3], 'many usual steps'],
  [
    'two days of each month',
    Array.from({ length: 24 }, (_, n) => `2024-${String(1 + (n >> 1)).padStart(2, '0')}-${n % 2 === 0 ? '01' : '15'}`),
    [1, 2],
    'are off the usual step',
  ],
])('refuses %s', (_, texts, rows, reason) => {
  const read = readDates(texts)
  if (typeof read === 'number') throw new Error('no form')
  expect(timeAxis(read[0] as never)).toEqual({ rows, reason: expect.stringContaining(reason) })
})

it('follows a clock that is not exact', () => {
  const draw = drawer(3)
  const texts = Array.from({ length: 300 }, (_, k) =>
    new Date(Date.UTC(2020, 0, 1) + k * 10_007 + draw(900)).toISOString(),
  )
  const axis = axisOf(texts)
  expect(axis.places).toEqual([...texts.keys()])
  expect(Date.parse(axis.text(300)) - Date.parse(axis.text(299))).toBeGreaterThan(9000)
})
