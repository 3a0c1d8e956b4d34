import { expect, it } from 'vitest'
import { axisOf, type Draw, drawer, expectTexts, two, WAYS, type Way } from './drawn_axes.js'

const pick = <Value>(draw: Draw, values: readonly Value[]): Value => values[draw(values.length)] as Value

type Write = (date: Date) => string
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
