import { expect, it } from 'vitest'
import type { TimeAxis } from '../../src/forecast/time_axis.js'
import { usualSeason } from '../../src/forecast/usual_season.js'

const axisOf = (dates: readonly Date[]) => ({ length: dates.length, date: (step: number) => dates[step] }) as TimeAxis
const of = (length: number, value: (k: number) => number) => Float64Array.from({ length }, (_, k) => value(k))
const days = (length: number, days: number) =>
  Array.from({ length }, (_, k) => new Date(Date.UTC(2020, 0, 1) + k * days * 24 * 3600 * 1000))

it('usualSeason follows the dates, where the series is long enough for it', () => {
  expect(usualSeason({ axis: axisOf(days(100, 1)), values: of(100, Math.sin) }, 100)).toBe(7)
  expect(usualSeason({ axis: axisOf(days(100, 1 / 24)), values: of(100, Math.sin) }, 100)).toBe(1)
  expect(usualSeason({ axis: axisOf(days(400, 7)), values: of(400, Math.sin) }, 400)).toBe(52)
  const months = Array.from({ length: 90 }, (_, k) => new Date(Date.UTC(2000, k, 1)))
  expect(usualSeason({ axis: axisOf(months), values: of(90, Math.sin) }, 90)).toBe(12)
})

it('usualSeason looks for a season in the changes of a series without dates', () => {
  const wave = of(120, (k) => k + 5 * Math.sin((2 * Math.PI * k) / 7) + Math.sin(k * k))
  expect(usualSeason({ axis: undefined, values: wave }, 120)).toBe(7)
  expect(usualSeason({ axis: undefined, values: of(120, (k) => Math.sin(k * k)) }, 120)).toBe(1)
  expect(usualSeason({ axis: undefined, values: of(120, () => 3) }, 120)).toBe(1)
})
