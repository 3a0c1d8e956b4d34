import { expect } from 'vitest'

const computed = new Map<string, unknown>()

/**
 * What `compute` returns, which is called once for each `key` of a process: an executor's instruction sets, precisions and
 * releases are compared with the same numbers, and loops in JavaScript take longer than their kernels.
 */
export function expectedOnce<Expected>(key: string, compute: () => Expected): Expected {
  if (!computed.has(key)) computed.set(key, compute())
  return computed.get(key) as Expected
}

/** The largest difference, divided by the larger of 1 and the largest expected magnitude; NaN if one is NaN. */
export function errorOf(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  return worstOf(actual, expected).error
}

/**
 * Fails unless the largest difference, divided by the larger of 1 and the largest expected magnitude, is within
 * `tolerance`; the message names the worst index. NaN is never close.
 */
export function expectAllclose(
  what: string,
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: number,
): void {
  expect(actual.length, `${what}: number of elements`).toBe(expected.length)
  const { worst, error } = worstOf(actual, expected)
  if (error <= tolerance) return
  expect.fail(`${what}[${worst}] is ${actual[worst]}, expected ${expected[worst]}: error ${error} > ${tolerance}`)
}

function worstOf(actual: ArrayLike<number>, expected: ArrayLike<number>): { worst: number; error: number } {
  let magnitude = 1
  for (let k = 0; k < expected.length; k++) magnitude = Math.max(magnitude, Math.abs(expected[k]))
  let worst = -1
  let error = 0
  for (let k = 0; k < expected.length; k++) {
    const difference = Math.abs(actual[k] - expected[k]) / magnitude
    if (difference <= error) continue
    worst = k
    error = difference
    if (Number.isNaN(difference)) break
  }
  return { worst, error }
}
