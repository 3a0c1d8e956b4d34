import { describe, expect, it } from 'vitest'
import { type EarlyStoppingOptions, watchBest } from '../../src/loop/early_stopping.js'
import type { TrainingRecord } from '../../src/loop/training_saver.js'

/** The best after each of the values, at steps 1, 2, 3, … */
function watched(values: readonly number[], options: Partial<EarlyStoppingOptions> = {}) {
  let best: TrainingRecord['best'] = null
  return values.map((value, index) => {
    const result = watchBest(best, value, index + 1, { metric: 'loss', ...options })
    best = result.best
    return result
  })
}

describe('watchBest', () => {
  it('takes the first value, then each smaller one, and counts the evaluations since', () => {
    expect(watched([3, 2, 2, 5, 1])).toEqual([
      { best: { value: 3, step: 1, evaluationsSince: 0 }, improved: true },
      { best: { value: 2, step: 2, evaluationsSince: 0 }, improved: true },
      { best: { value: 2, step: 2, evaluationsSince: 1 }, improved: false },
      { best: { value: 2, step: 2, evaluationsSince: 2 }, improved: false },
      { best: { value: 1, step: 5, evaluationsSince: 0 }, improved: true },
    ])
  })

  it('takes each larger value where the metric must grow', () => {
    expect(watched([0.5, 0.4, 0.6], { mode: 'max' }).map(({ improved }) => improved)).toEqual([true, false, true])
  })

  it.each(['min', 'max'] as const)('of mode %s passes over changes up to minDelta', (mode) => {
    const sign = mode === 'min' ? -1 : 1
    const values = [0, 0.25 * sign, 0.5 * sign, 0.75 * sign]
    const results = watched(values, { mode, minDelta: 0.5 })
    expect(results.map(({ improved }) => improved)).toEqual([true, false, false, true])
    expect(results.at(-1)?.best).toEqual({ value: 0.75 * sign, step: 4, evaluationsSince: 0 })
  })

  it('never takes NaN: before the first number there is no best, and patience does not begin', () => {
    expect(watched([Number.NaN, Number.NaN, 7, Number.NaN])).toEqual([
      { best: null, improved: false },
      { best: null, improved: false },
      { best: { value: 7, step: 3, evaluationsSince: 0 }, improved: true },
      { best: { value: 7, step: 3, evaluationsSince: 1 }, improved: false },
    ])
  })

  it('takes a number after an infinite loss', () => {
    expect(watched([Number.POSITIVE_INFINITY, 1e30]).at(-1)?.best).toMatchObject({ value: 1e30, step: 2 })
  })
})
