import fc from 'fast-check'
import { expect, it } from 'vitest'
import { spread } from '../../src/report/line_chart.js'

it('spread leaves labels where they are when they are far enough apart', () => {
  expect(spread([50, 0, 100], 20)).toEqual([50, 0, 100])
})

it('spread moves labels that are near each other apart, evenly around where they were', () => {
  expect(spread([10, 12], 10)).toEqual([6, 16])
  expect(spread([5, 5, 5], 10)).toEqual([-5, 5, 15])
})

it('spread keeps order and distance for any places', () => {
  const place = fc.double({ min: -1000, max: 1000, noNaN: true })
  fc.assert(
    fc.property(fc.array(place, { maxLength: 12 }), (places) => {
      const moved = spread(places, 15).toSorted((a, b) => a - b)
      for (let k = 1; k < moved.length; k++) expect(moved[k] - moved[k - 1]).toBeGreaterThan(15 - 1e-6)
    }),
    { seed: 20261121, numRuns: 100 },
  )
})
