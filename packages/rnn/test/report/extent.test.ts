import { expect, it } from 'vitest'
import { extent } from '../../src/report/line_chart.js'

it('extent has the least and the greatest of more values than a call has arguments', () => {
  expect(extent(Array.from({ length: 300_000 }, (_, k) => (k * 7919) % 300_007))).toEqual([0, 300_006])
})

it('extent of one value is that value twice, and of none is empty', () => {
  expect(extent([-3])).toEqual([-3, -3])
  expect(extent([])).toEqual([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
})
