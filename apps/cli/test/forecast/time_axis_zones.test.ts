import { expect, it } from 'vitest'
import { readDates } from '../../src/forecast/date_form.js'
import { timeAxis } from '../../src/forecast/time_axis.js'
import { axisOf, drawer, expectTexts, HOUR, MINUTE, two, WAYS, type Way } from './drawn_axes.js'

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
