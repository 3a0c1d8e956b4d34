import type { Trace } from './run_program.js'

/**
 * Where two traces differ first, in words; undefined where they agree.
 *
 * @param tolerance of a difference divided by the larger of 1 and the largest expected magnitude; null compares all but
 *   values
 */
export function firstDifference(actual: Trace, expected: Trace, tolerance: number | null): string | undefined {
  for (const [index, { statement, code, values }] of expected.entries()) {
    const other = actual[index]
    if (other === undefined || other.statement !== statement) return `${statement}: there is ${other?.statement}`
    if (other.code !== code) return `${statement}: ${other.code ?? 'success'} instead of ${code ?? 'success'}`
    const names = Object.keys(values)
    if (String(Object.keys(other.values)) !== String(names)) return `${statement}: other results`
    for (const name of names) {
      const difference = differenceOf(other.values[name]!, values[name]!, statement.startsWith('after') ? 0 : tolerance)
      if (difference !== undefined) return `${statement}: ${name}${difference}`
    }
  }
  return undefined
}

function differenceOf(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number | null) {
  if (actual.length !== expected.length) return ` has ${actual.length} elements instead of ${expected.length}`
  if (tolerance === null) return undefined
  let magnitude = 1
  for (let k = 0; k < expected.length; k++) {
    if (Number.isFinite(expected[k]!)) magnitude = Math.max(magnitude, Math.abs(expected[k]!))
  }
  for (let k = 0; k < expected.length; k++) {
    const error = Math.abs(actual[k]! - expected[k]!) / magnitude
    if (error <= tolerance || Object.is(actual[k], expected[k])) continue
    return `[${k}] is ${actual[k]} instead of ${expected[k]}, an error of ${error}`
  }
  return undefined
}
