import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { gaussianKl } from '../../src/index.js'
import type { DiagonalGaussian } from '../../src/losses/gaussian_kl.js'

const tensor = (shape: number[], ...values: number[]) => ({ data: Float64Array.from(values), shape })
const gaussian = (shape: number[], means: number[], logVariances: number[]): DiagonalGaussian => ({
  mean: tensor(shape, ...means),
  logVariance: tensor(shape, ...logVariances),
})

describe('gaussianKl', () => {
  it.each([
    ['equal distributions', [3, 1], [3, 1], 0],
    // ½·(Δμ/σ)²
    ['means one standard deviation apart', [1, Math.log(4)], [3, Math.log(4)], 0.5],
    // ln(σp/σq) + σq²/2σp² - ½
    ['a narrower q', [0, 0], [0, Math.log(4)], Math.log(2) + 1 / 8 - 1 / 2],
    ['a wider q', [0, Math.log(4)], [0, 0], -Math.log(2) + 2 - 1 / 2],
  ])('is the closed form of %s', (_, [qMean, qLog], [pMean, pLog], expected) => {
    const { divergence } = gaussianKl(gaussian([1], [qMean], [qLog]), gaussian([1], [pMean], [pLog]))
    expect(divergence.shape).toEqual([])
    expect(divergence.data[0]).toBeCloseTo(expected, 12)
  })

  it('sums over the last axis, and compares with the standard normal by default', () => {
    const q = gaussian([2, 2], [1, 2, 0, 3], [0, 0, 0, 0])
    const { divergence } = gaussianKl(q)
    expect(divergence.shape).toEqual([2])
    expect(divergence.data[0]).toBeCloseTo((1 + 4) / 2, 12)
    expect(divergence.data[1]).toBeCloseTo(9 / 2, 12)
    const standard = gaussian([2, 2], [0, 0, 0, 0], [0, 0, 0, 0])
    expect(gaussianKl(q, standard).divergence).toEqual(divergence)
  })

  it('is never negative, and 0 for equal distributions alone', () => {
    const values = [-2, -0.3, 0, 0.7, 2]
    for (const [qMean, qLog, pMean, pLog] of values.flatMap((a) =>
      values.flatMap((b) => values.flatMap((c) => values.map((d) => [a, b, c, d]))),
    )) {
      const { divergence } = gaussianKl(gaussian([1], [qMean], [qLog]), gaussian([1], [pMean], [pLog]))
      if (qMean === pMean && qLog === pLog) expect(divergence.data[0]).toBe(0)
      else expect(divergence.data[0]).toBeGreaterThan(0)
    }
  })

  it('has the gradients of the differences', () => {
    const start = [0.3, -0.7, 0.9, -0.2]
    const divergenceAt = ([qMean, qLog, pMean, pLog]: readonly number[]) =>
      gaussianKl(gaussian([1], [qMean], [qLog]), gaussian([1], [pMean], [pLog]))
    const { q, p } = divergenceAt(start).gradients
    const step = 1e-6
    for (const [k, gradient] of [q.mean, q.logVariance, p.mean, p.logVariance].entries()) {
      const moved = (by: number) => divergenceAt(start.map((value, at) => (at === k ? value + by : value)))
      const difference = (moved(step).divergence.data[0] - moved(-step).divergence.data[0]) / (2 * step)
      expect(gradient.data[0]).toBeCloseTo(difference, 8)
    }
  })

  it('refuses tensors of other shapes and types', () => {
    const q = gaussian([2], [0, 0], [0, 0])
    expect(() => gaussianKl(q, gaussian([1], [0], [0]))).toThrow(coded('ERR_SHAPE'))
    expect(() => gaussianKl({ ...q, logVariance: tensor([1], 0) })).toThrow(coded('ERR_SHAPE'))
    const single = { data: Float32Array.of(0, 0), shape: [2] }
    expect(() => gaussianKl({ ...q, logVariance: single })).toThrow(coded('ERR_DTYPE'))
    expect(() => gaussianKl(undefined as never)).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
    expect(() => gaussianKl(q, null as never)).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
  })

  it('is 0 for each row without coordinates', () => {
    const { divergence } = gaussianKl(gaussian([3, 0], [], []))
    expect(divergence).toEqual({ data: Float64Array.of(0, 0, 0), shape: [3] })
  })
})
