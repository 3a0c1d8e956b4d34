import { Philox } from '@cudnn-rnn/ops/executor'
import { describe, expect, it } from 'vitest'
import { intervalWidths } from '../../src/tasks/forecaster_training.js'

const column = (...errors: number[]) => errors.map((error) => [error])

describe('intervalWidths', () => {
  it.each([
    // ⌈(n+1)·coverage⌉-th smallest of n.
    [0.5, 2],
    [0.6, 3],
    [0.8, 4],
    [0.81, 4],
    // Five values cannot promise more than 5/6: the largest error stands for all above.
    [0.84, 4],
    [0.99, 4],
    [0.2, 1],
    [0.01, 0],
  ])('of coverage %d takes the error of its rank', (coverage, expected) => {
    expect(intervalWidths(column(-3, 1, 4, 2, 0), coverage)).toEqual([expected])
  })

  it('has a width for each step ahead, without missing values', () => {
    const errors = [
      [1, Number.NaN],
      [-2, 30],
      [3, Number.NaN],
    ]
    expect(intervalWidths(errors, 0.9)).toEqual([3, 30])
  })

  it('is 0 without any error known', () => {
    expect(intervalWidths(column(Number.NaN), 0.8)).toEqual([0])
    expect(intervalWidths([], 0.8)).toEqual([])
  })

  it('leaves the errors in their order', () => {
    const errors = column(3, -1, 2)
    intervalWidths(errors, 0.5)
    expect(errors).toEqual(column(3, -1, 2))
  })

  it('covers new errors of the same distribution at its nominal rate', () => {
    const random = new Philox(2)
    const draw = () => Math.abs(random.normal()) ** 3
    let [covered, trials] = [0, 0]
    for (; trials < 4000; trials++) {
      const [width = 0] = intervalWidths(column(...Array.from({ length: 19 }, draw)), 0.8)
      if (draw() <= width) covered++
    }
    // Exactly 16/20; the standard deviation of the share is 0.0063.
    expect(Math.abs(covered / trials - 0.8)).toBeLessThan(0.03)
  })
})
