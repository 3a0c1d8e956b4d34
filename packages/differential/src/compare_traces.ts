import type { Trace } from './run_program.js'

/** How closely values must agree. */
export interface Closeness {
  /** Of a difference divided by the larger of 1 and the largest expected magnitude; null compares all but values. */
  readonly tolerance: number | null
  /**
   * The same program in higher precision, if there is one. Some programs amplify rounding errors, so the error of a value may be
   * {@link AMPLIFICATION} times that of the expected one.
   */
  readonly exact?: Trace | undefined
}

const AMPLIFICATION = 20

/** Where two traces differ first, in words; undefined where they agree. */
export function firstDifference(actual: Trace, expected: Trace, { tolerance, exact }: Closeness): string | undefined {
  for (const [index, { statement, code, values }] of expected.entries()) {
    const other = actual[index]
    if (other === undefined || other.statement !== statement) return `${statement}: there is ${other?.statement}`
    if (other.code !== code) return `${statement}: ${other.code ?? 'success'} instead of ${code ?? 'success'}`
    const names = Object.keys(values)
    if (String(Object.keys(other.values)) !== String(names)) return `${statement}: other results`
    for (const name of names) {
      const [value, wanted, truth] = [other.values[name]!, values[name]!, exact?.[index]?.values[name]]
      if (value.length !== wanted.length) {
        return `${statement}: ${name} has ${value.length} elements instead of ${wanted.length}`
      }
      // Live objects are compared.
      const allowed = name === 'alive' ? 0 : tolerance
      if (allowed === null) continue
      const spread = truth?.length === wanted.length ? largestError(wanted, truth).error : 0
      const { error, at } = largestError(value, wanted)
      // After an overflow of the program's type the values are arbitrary.
      if (error <= allowed + AMPLIFICATION * spread || Number.isNaN(spread)) continue
      return `${statement}: ${name}[${at}] is ${value[at]} instead of ${wanted[at]}, an error of ${error}`
    }
  }
  return undefined
}

/** The largest error as {@link Closeness} measures it, NaN above all, and its index. */
function largestError(actual: ArrayLike<number>, expected: ArrayLike<number>): { error: number; at: number } {
  let magnitude = 1
  for (let k = 0; k < expected.length; k++) {
    if (Number.isFinite(expected[k]!)) magnitude = Math.max(magnitude, Math.abs(expected[k]!))
  }
  let largest = { error: 0, at: -1 }
  for (let k = 0; k < expected.length; k++) {
    if (Object.is(actual[k], expected[k])) continue
    const error = Math.abs(actual[k]! - expected[k]!) / magnitude
    if (Number.isNaN(error)) return { error, at: k }
    if (error > largest.error) largest = { error, at: k }
  }
  return largest
}
