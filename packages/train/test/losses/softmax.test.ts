import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { logSoftmax, logSumExp, softmax, softmaxGradient } from '../../src/index.js'

const row = (...values: number[]) => ({ data: Float32Array.from(values), shape: [values.length] })

it('softmax([1000, 0]) is [1, 0] (Effective TensorFlow: the naive form gives [nan, 0])', () => {
  expect([...softmax(row(1000, 0)).data]).toEqual([1, 0])
  expect([...softmax(row(-1000, 0)).data]).toEqual([0, 1])
})

it('logSumExp stays finite beyond ln(3.40282e38) = 88.7, where float32 overflows', () => {
  expect(logSumExp(row(89, 89)).data[0]).toBeCloseTo(89 + Math.LN2, 5)
  expect(logSumExp(row(-Infinity, -Infinity)).data[0]).toBe(-Infinity)
})

it('logSoftmax keeps the small term beside a large maximum', () => {
  const [first, second] = logSoftmax({ data: Float64Array.of(1e8, 1e8), shape: [2] }).data
  expect(first).toBeCloseTo(-Math.LN2, 12)
  expect(second).toBeCloseTo(-Math.LN2, 12)
})

it('softmax normalizes the axis that is named, the last by default', () => {
  const logits = { data: Float64Array.of(0, 1, 2, 3, 4, 5), shape: [2, 3] }
  const rows = softmax(logits).data
  expect(rows[0] + rows[1] + rows[2]).toBeCloseTo(1, 14)
  const columns = softmax(logits, 0).data
  expect(columns[1] + columns[4]).toBeCloseTo(1, 14)
  expect([...softmax(logits, -2).data]).toEqual([...columns])
  expect(() => softmax(logits, 2)).toThrow(coded('ERR_AXIS'))
})

it('softmaxGradient is orthogonal to a shift of all logits', () => {
  const p = softmax({ data: Float64Array.of(0.3, -1, 2), shape: [3] })
  const g = softmaxGradient(p, { data: Float64Array.of(1, -2, 0.5), shape: [3] }).data
  expect(g[0] + g[1] + g[2]).toBeCloseTo(0, 14)
  expect(g[0]).toBeCloseTo(p.data[0] * (1 - (p.data[0] - 2 * p.data[1] + 0.5 * p.data[2])), 14)
})
