/** The attributes of a case that a covering subset combines. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

/**
 * A subset of `cases` in which each pair of attribute values that occurs in `cases` occurs at least once (pairwise
 * testing). Greedy: each case of the subset adds the most new pairs, the first such case on a tie.
 *
 * Source: Cohen et al., "The AETG System" (IEEE TSE 23(7), 1997).
 */
export function coveringCases<Case>(cases: readonly Case[], attributesOf: (c: Case) => Attributes): readonly Case[] {
  const pairsOfCases = cases.map((c) => pairsOf(attributesOf(c)))
  const uncovered = new Set(pairsOfCases.flat())
  const chosen = new Set<Case>()
  while (uncovered.size > 0) {
    const gains = pairsOfCases.map((pairs) => pairs.filter((pair) => uncovered.has(pair)).length)
    const best = gains.indexOf(Math.max(...gains))
    chosen.add(cases[best] as Case)
    for (const pair of pairsOfCases[best] ?? []) uncovered.delete(pair)
  }
  return cases.filter((c) => chosen.has(c))
}

function pairsOf(attributes: Attributes): string[] {
  const values = Object.entries(attributes).map(([name, value]) => `${name}=${value}`)
  return values.flatMap((value, index) => values.slice(index + 1).map((other) => `${value} ${other}`))
}
