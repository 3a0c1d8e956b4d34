import type { Trace } from './run_program.js'

/** How closely values must agree. */
export interface Closeness {
  /** Bounds a difference divided by the larger of 1 and the largest expected magnitude; null compares all but values. */
  readonly tolerance: number | null
  /** After a statement with a finite value above this one, nothing is compared: products may overflow in one executor alone. */
  readonly largest: number
  /**
   * The same program in higher precision, if there is one. Some programs amplify rounding errors, so the error of a value may be
   * {@link AMPLIFICATION} times the expected one's.
   */
  readonly exact?: Trace | undefined
}

const AMPLIFICATION = 20

/** The place at which two traces differ first, in words; undefined if they agree. */
export function firstDifference(
  actual: Trace,
  expected: Trace,
  { tolerance, largest, exact }: Closeness,
): string | undefined {
  for (const [index, { statement, code, values }] of expected.entries()) {
    const counterpart = actual[index]
    if (counterpart?.statement !== statement) return `${statement}: there is ${counterpart?.statement}`
    if (counterpart.code !== code)
      return `${statement}: ${counterpart.code ?? 'success'} instead of ${code ?? 'success'}`
    const names = Object.keys(values)
    if (String(Object.keys(counterpart.values)) !== String(names)) return `${statement}: other results`
    for (const name of names) {
      const [value, wanted, truth] = [counterpart.values[name], values[name], exact?.[index]?.values[name]]
      if (value.length !== wanted.length) {
        return `${statement}: ${name} has ${value.length} elements instead of ${wanted.length}`
      }
      // Live objects are compared.
      const allowed = name === 'alive' ? 0 : tolerance
      if (allowed === null) continue
      // After an overflow of the program's type the values are arbitrary.
      if (truth?.length === wanted.length && firstFiniteInOne(wanted, truth) !== undefined) continue
      const other = firstFiniteInOne(value, wanted)
      if (other !== undefined) return `${statement}: ${name}[${other}] is ${value[other]} instead of ${wanted[other]}`
      const spread = truth?.length === wanted.length ? largestError(wanted, truth).error : 0
      const { error, at } = largestError(value, wanted)
      if (error <= allowed + AMPLIFICATION * spread) continue
      return `${statement}: ${name}[${at}] is ${value[at]} instead of ${wanted[at]}, an error of ${error}`
    }
    if (isNearOverflow(values, largest)) return undefined
  }
  return undefined
}

/**
 * The first index at which one of the arrays is finite and the other is not. NaN and infinity count as one: a gate of
 * the cpu executor ends at e^-87, not at 0, so 0·∞ may be ∞ there.
 */
function firstFiniteInOne(actual: ArrayLike<number>, expected: ArrayLike<number>): number | undefined {
  for (let k = 0; k < expected.length; k++) {
    if (Number.isFinite(actual[k]) !== Number.isFinite(expected[k])) return k
  }
  return undefined
}

/** Whether products of the finite values may overflow. */
function isNearOverflow(values: Trace[number]['values'], largest: number): boolean {
  const isLarge = (value: number) => Number.isFinite(value) && Math.abs(value) > largest
  return Object.values(values).some((array) => Array.from(array).some(isLarge))
}

/** The largest error of the finite elements as {@link Closeness} measures it, and its index. */
function largestError(actual: ArrayLike<number>, expected: ArrayLike<number>): { error: number; at: number } {
  let magnitude = 1
  for (let k = 0; k < expected.length; k++) {
    if (Number.isFinite(expected[k])) magnitude = Math.max(magnitude, Math.abs(expected[k]))
  }
  let largest = { error: 0, at: -1 }
  for (let k = 0; k < expected.length; k++) {
    if (!Number.isFinite(expected[k])) continue
    const error = Math.abs(actual[k] - expected[k]) / magnitude
    if (error > largest.error) largest = { error, at: k }
  }
  return largest
}
