import { describe, expect, it } from 'vitest'
import { coveringCases } from '../src/covering_cases.js'
import { FIXTURES } from '../src/fixture_case.js'
import { coveringFixtures } from '../src/fixture_conformance.js'

describe('coveringCases', () => {
  const bits = [false, true]
  const cases = bits.flatMap((a) => bits.flatMap((b) => bits.flatMap((c) => bits.map((d) => ({ a, b, c, d })))))
  const pairs = (chosen: readonly (typeof cases)[number][]) =>
    new Set(
      chosen.flatMap((c) => {
        const values = Object.entries(c).map(([name, value]) => `${name}${value}`)
        return values.flatMap((one) => values.filter((other) => one < other).map((other) => one + other))
      }),
    )

  it('keeps every pair of values with fewer cases', () => {
    const chosen = coveringCases(cases, (c) => c)
    expect(pairs(chosen)).toEqual(pairs(cases))
    expect(chosen.length).toBeLessThanOrEqual(7)
  })

  it('keeps the order of the cases, and a single case', () => {
    const chosen = coveringCases(cases, (c) => c)
    expect(chosen).toEqual(cases.filter((c) => chosen.includes(c)))
    expect(coveringCases(cases.slice(0, 1), (c) => c)).toEqual(cases.slice(0, 1))
    expect(coveringCases([], () => ({}))).toEqual([])
  })
})

describe('coveringFixtures', () => {
  it('keeps a fifth of the fixtures and each cell mode, direction, projection and clip', () => {
    const chosen = Object.values(FIXTURES).flatMap((cases) => coveringFixtures(cases, []))
    const count = Object.values(FIXTURES).flat().length
    expect(chosen.length).toBeLessThan(count / 4)
    expect(new Set(chosen.map(({ cellMode, direction }) => `${cellMode} ${direction}`)).size).toBe(8)
    expect(chosen.some(({ numProj, direction }) => numProj !== undefined && direction === 'bidirectional')).toBe(true)
    expect(chosen.some(({ cellClip, sequenceLengths }) => cellClip !== undefined && sequenceLengths)).toBe(true)
  })

  it('keeps the named cases', () => {
    const { id } = FIXTURES.PyTorch.at(-1)!
    expect(coveringFixtures(FIXTURES.PyTorch, [id]).map((c) => c.id)).toContain(id)
  })
})
