import { expect, it } from 'vitest'
import { KeptPrefixes } from '../../src/ctc/kept_prefixes.js'
import { NO_MASS, PrefixNode } from '../../src/ctc/prefix_tree.js'

function node(total: number): PrefixNode<undefined> {
  const made = new PrefixNode<undefined>(undefined, 0, undefined, 0)
  made.now = { blank: total, label: Number.NEGATIVE_INFINITY, total }
  return made
}

const totals = (kept: KeptPrefixes<undefined>) => kept.descending.map(({ now }) => now.total)

it('keeps the likeliest prefixes of any order, the likeliest first', () => {
  for (let width = 1; width <= 6; width++) {
    for (let begin = 0; begin < 50; begin++) {
      // Integers in -19..0, of which some are equal.
      const all = Array.from({ length: 12 }, (_, k) => -(((begin + k) * (begin + k) * 7 + begin) % 20))
      const first = Math.min(width, begin % 7)
      const kept = new KeptPrefixes(width, all.slice(0, first).map(node))
      for (const each of all.slice(first)) if (kept.admits(each)) kept.add(node(each))
      expect(totals(kept)).toEqual(all.toSorted((a, b) => b - a).slice(0, width))
    }
  }
})

it('takes the mass of a prefix that leaves, and leaves the survivors as they were', () => {
  const survivors = [node(-3), node(-1)]
  const kept = new KeptPrefixes(2, survivors)
  kept.add(node(-2))
  expect(totals(kept)).toEqual([-1, -2])
  expect(survivors[0].now).toBe(NO_MASS)
  expect(survivors[0].isActive).toBe(false)
  expect(survivors[1].isActive).toBe(true)
  expect(survivors.length).toBe(2)
})

it('keeps the older of two equally likely prefixes', () => {
  const older = node(-1)
  const kept = new KeptPrefixes(1, [older])
  expect(kept.admits(-1)).toBe(false)
  const wide = new KeptPrefixes(3, [older])
  const newer = node(-1)
  wide.add(newer)
  expect(wide.descending).toEqual([older, newer])
  expect(wide.descending[0]).toBe(older)
})

it('admits no prefix without a probability', () => {
  const kept = new KeptPrefixes<undefined>(3, [])
  expect(kept.admits(Number.NEGATIVE_INFINITY)).toBe(false)
  expect(kept.admits(Number.NaN)).toBe(false)
  expect(kept.admits(-1e300)).toBe(true)
})
