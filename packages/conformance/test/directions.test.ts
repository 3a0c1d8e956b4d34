import { describe, expect, it } from 'vitest'
import { directionsOf, slopeAlong } from '../src/directions.js'

describe('directionsOf', () => {
  it('gives the axis of each element where everything is requested', () => {
    expect(directionsOf(3, 'all').map((direction) => Array.from(direction))).toEqual([
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ])
    expect(directionsOf(0, 'all')).toEqual([])
  })

  it.each([1, 2, 300])('gives vectors of length 1 for %d elements of a covering run', (length) => {
    for (const direction of directionsOf(length, 'covering')) expect(Math.hypot(...direction)).toBeCloseTo(1, 12)
  })

  it('finds any two elements of a gradient exchanged, and any one wrong', () => {
    const length = 120
    const directions = directionsOf(length, 'covering')
    const gradient = Float64Array.from({ length }, (_, k) => k / length)
    const isFound = (wrong: Float64Array) =>
      directions.some((each) => Math.abs(slopeAlong(wrong, each) - slopeAlong(gradient, each)) > 1e-6)
    for (let first = 0; first < length; first++) {
      const scaled = gradient.with(first, gradient[first]! + 1e-3)
      expect(isFound(scaled), `${first}`).toBe(true)
      for (let second = 0; second < first; second++) {
        const exchanged = gradient.with(first, gradient[second]!).with(second, gradient[first]!)
        expect(isFound(exchanged), `${first} and ${second}`).toBe(true)
      }
    }
  })
})

it('slopeAlong is the product of a gradient and a direction', () => {
  expect(slopeAlong([1, 2, 3], [2, 0, -1])).toBe(-1)
})
