import type { ElementLoss, Pooling } from '@cudnn-rnn/ops/executor'
import { describe, expect, it } from 'vitest'
import { LAYER_FUNCTIONS } from '../../../src/executor/host/layer_ops.js'

const { attend, attendGradients, elementLoss, poolSequence, poolSequenceGradient, reverseSequence } = LAYER_FUNCTIONS

const of = (...values: number[]) => Float64Array.from(values)
const close = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 13))
const ROWS = { rows: 2, columns: 3 }
const X = of(1, -2, 0.5, 0.25, 3, -1)

/** [T = 3, B = 2, E = 2], every element different. */
const SEQUENCE = of(1, 2, 30, 40, 5, 0, 10, 80, 3, 9, 20, 60)
const SIZES = { time: 3, batch: 2, columns: 2 }

describe('reverseSequence', () => {
  it('reverses the steps of each row within its length', () => {
    const y = new Float64Array(12)
    reverseSequence([y], [SEQUENCE, Int32Array.of(3, 2)], SIZES)
    expect([...y]).toEqual([3, 9, 10, 80, 5, 0, 30, 40, 1, 2, 0, 0])
  })

  it('is its own inverse without padding', () => {
    const [once, twice] = [new Float64Array(12), new Float64Array(12)]
    reverseSequence([once], [SEQUENCE], SIZES)
    reverseSequence([twice], [once], SIZES)
    expect(twice).toEqual(SEQUENCE)
    expect([...once.subarray(0, 2)]).toEqual([3, 9])
  })
})

describe('poolSequence and poolSequenceGradient', () => {
  const pooled = (pooling: Pooling, lengths?: number[], reversedFrom = 2) => {
    const [y, dx] = [new Float64Array(4), new Float64Array(12)]
    const own = lengths && Int32Array.from(lengths)
    poolSequence([y], [SEQUENCE, own], { ...SIZES, pooling, reversedFrom })
    poolSequenceGradient([dx], [SEQUENCE, own, of(1, 2, 3, 4)], { ...SIZES, pooling, reversedFrom })
    return { y: [...y], dx: [...dx] }
  }

  it('takes the last step of each row, and step 0 of reversed columns', () => {
    expect(pooled('last', [2, 3])).toEqual({ y: [5, 0, 20, 60], dx: [0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 3, 4] })
    expect(pooled('last', [2, 3], 1)).toEqual({ y: [5, 2, 20, 40], dx: [0, 2, 0, 4, 1, 0, 0, 0, 0, 0, 3, 0] })
  })

  it('takes the largest of each column within the length', () => {
    expect(pooled('max')).toEqual({ y: [5, 9, 30, 80], dx: [0, 0, 3, 0, 1, 0, 0, 4, 0, 2, 0, 0] })
    expect(pooled('max', [1, 3]).y).toEqual([1, 2, 30, 80])
  })

  it('takes the mean of the steps within the length', () => {
    const { y, dx } = pooled('mean', [2, 1])
    expect(y).toEqual([3, 1, 30, 40])
    expect(dx).toEqual([0.5, 1, 3, 4, 0.5, 1, 0, 0, 0, 0, 0, 0])
  })

  it.each<Pooling>(['last', 'max', 'mean'])('%s of a row of no steps is 0', (pooling) => {
    const { y, dx } = pooled(pooling, [0, 0])
    expect([...y, ...dx]).toEqual(new Array(16).fill(0))
  })

  it('takes the first of equal largest steps, and the first NaN', () => {
    const chosen = (...steps: number[]) => {
      const dx = new Float64Array(steps.length)
      const numbers = { time: steps.length, batch: 1, columns: 1, pooling: 'max', reversedFrom: 1 } as const
      poolSequenceGradient([dx], [of(...steps), undefined, of(1)], numbers)
      return dx.indexOf(1)
    }
    expect(chosen(1, 3, 3, 2)).toBe(1)
    expect(chosen(1, Number.NaN, 9, Number.NaN)).toBe(1)
    expect(chosen(Number.NaN, 9)).toBe(0)
  })
})

describe('attend and attendGradients', () => {
  const scores = of(0.5, -1, 2, 0, -0.5, 9)
  const lengths = Int32Array.of(3, 2)
  const attended = (x: Float64Array, scores: Float64Array) => {
    const results = { output: new Float64Array(4), weights: new Float64Array(6) }
    attend([results.output, results.weights], [x, scores, lengths], SIZES)
    return results
  }

  it('averages the steps of each row by the softmax of its scores', () => {
    const { output, weights } = attended(SEQUENCE, scores)
    const [a, b] = [1 / (1 + Math.exp(1)), 1 / (1 + Math.exp(-1))]
    expect([weights[1], weights[3], weights[5]]).toEqual([expect.closeTo(a, 14), expect.closeTo(b, 14), 0])
    expect(output[2]).toBeCloseTo(30 * a + 10 * b, 12)
    expect((weights[0] + weights[2] + weights[4]) as number).toBeCloseTo(1, 14)
  })

  it('has gradients that agree with differences', () => {
    const { weights } = attended(SEQUENCE, scores)
    const dy = of(1, -0.5, 0.25, 2)
    const [dInput, dScores] = [new Float64Array(12), new Float64Array(6)]
    attendGradients([dInput, dScores], [SEQUENCE, weights, dy], SIZES)
    const loss = (x: Float64Array, s: Float64Array) =>
      attended(x, s).output.reduce((sum, value, index) => sum + value * dy[index], 0)
    const slope = (values: Float64Array, k: number, of: (changed: Float64Array) => number) => {
      const [up, down] = [values.slice(), values.slice()]
      up[k] += 1e-6
      down[k] -= 1e-6
      return (of(up) - of(down)) / 2e-6
    }
    for (const k of SEQUENCE.keys())
      expect(dInput[k]).toBeCloseTo(
        slope(SEQUENCE, k, (x) => loss(x, scores)),
        6,
      )
    for (const k of scores.keys())
      expect(dScores[k]).toBeCloseTo(
        slope(scores, k, (s) => loss(SEQUENCE, s)),
        6,
      )
  })
})

describe('elementLoss', () => {
  const targets = of(1, 0, 0.25, 0, 1, 1)
  const computed = (loss: ElementLoss, operands: readonly Float64Array[], sizes = ROWS) => {
    const [value, gradient] = [new Float64Array(1), new Float64Array(sizes.rows * sizes.columns)]
    elementLoss([value, gradient], operands, { ...sizes, loss })
    return { loss: value[0], gradient: [...gradient] }
  }
  // torch 2.13.0: mse_loss, l1_loss and binary_cross_entropy_with_logits.
  it.each<[ElementLoss, number, number[]]>([
    ['squared_error', 2.0208333333333335, [0, -2 / 3, 1 / 12, 1 / 12, 2 / 3, -2 / 3]],
    ['absolute_error', 1.0833333333333333, [0, -1 / 6, 1 / 6, 1 / 6, 1 / 6, -1 / 3 / 2]],
    [
      'sigmoid_cross_entropy',
      0.5795091902853517,
      [
        -0.04482357022833252, 0.019867153670352924, 0.0620765552003091, 0.09369608348096635, -0.007904312196261106,
        -0.12184309643833414,
      ],
    ],
  ])('%s as PyTorch', (loss, expected, gradients) => {
    const { loss: value, gradient } = computed(loss, [X, targets])
    expect(value).toBeCloseTo(expected, 14)
    expect(gradient).toEqual(close(gradients))
  })

  it('weighs rows, and reads nothing of a row without weight', () => {
    const predictions = X.slice().fill(Number.NaN, 3)
    const { loss, gradient } = computed('squared_error', [predictions, targets, of(2, 0)])
    expect(loss).toBeCloseTo((0 + 4 + 0.0625) / 3, 14)
    expect(gradient.slice(3)).toEqual([0, 0, 0])
    expect(computed('squared_error', [X, targets, of(0, 0)]).loss).toBe(0)
  })

  it('does not overflow', () => {
    const lossOf = (...targets: number[]) =>
      computed('sigmoid_cross_entropy', [of(1e3, -1e3), of(...targets)], { rows: 1, columns: 2 }).loss
    expect(lossOf(1, 0)).toBe(0)
    expect(lossOf(0, 1)).toBe(1e3)
  })
})
