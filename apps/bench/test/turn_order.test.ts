import { describe, expect, it } from 'vitest'
import { turnOrder } from '../src/comparison_run.js'

describe('turnOrder', () => {
  it.each([1, 2, 3, 5, 6])('gives each of %i series every place, after every other one equally often', (count) => {
    const rounds = count % 2 === 0 ? count : 2 * count
    const places = new Map<string, number>()
    const followers = new Map<string, number>()
    const increment = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1)
    for (let round = 0; round < rounds; round++) {
      const order = turnOrder(count, round)
      expect([...order].sort()).toEqual(Array.from({ length: count }, (_, index) => index))
      for (const [place, series] of order.entries()) {
        increment(places, `${series} at ${place}`)
        if (place > 0) increment(followers, `${series} after ${order[place - 1]}`)
      }
    }
    expect(new Set(places.values())).toEqual(new Set([rounds / count]))
    expect(places.size).toBe(count * count)
    expect(followers.size).toBe(count * (count - 1))
    expect(new Set(followers.values()).size).toBe(count === 1 ? 0 : 1)
  })
})
