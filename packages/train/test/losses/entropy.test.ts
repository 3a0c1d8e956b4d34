import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { entropyFromLogits, entropyGradient } from '../../src/index.js'

const tensor = (shape: number[], ...values: number[]) => ({ data: Float64Array.from(values), shape })

describe('entropyFromLogits', () => {
  it.each([
    ['a uniform distribution', [7, 7, 7, 7], Math.log(4)],
    ['a certain one', [0, Number.NEGATIVE_INFINITY], 0],
    ['a fair coin beside an impossible class', [1, Number.NEGATIVE_INFINITY, 1], Math.log(2)],
    ['one class', [3], 0],
    ['1/4 and 3/4', [0, Math.log(3)], Math.log(4) - 0.75 * Math.log(3)],
    ['logits beyond the range of exp', [1000, 1000, -1000], Math.log(2)],
  ])('of %s', (_, logits, expected) => {
    const { data, shape } = entropyFromLogits(tensor([logits.length], ...logits))
    expect(shape).toEqual([])
    expect(data[0]).toBeCloseTo(expected, 12)
  })

  it('drops the axis that it sums over', () => {
    const logits = tensor([2, 2], 0, Math.log(3), 0, 0)
    const quarter = Math.log(4) - 0.75 * Math.log(3)
    const last = entropyFromLogits(logits)
    expect(last.shape).toEqual([2])
    expect(last.data[0]).toBeCloseTo(quarter, 12)
    expect(last.data[1]).toBeCloseTo(Math.log(2), 12)
    const first = entropyFromLogits(logits, 0)
    expect(first.data[0]).toBeCloseTo(Math.log(2), 12)
    expect(first.data[1]).toBeCloseTo(quarter, 12)
    expect(entropyFromLogits(logits, -2)).toEqual(first)
  })

  it('is not changed by a number added to all logits', () => {
    for (const logits of [[0], [1, -2], [0.3, 2.5, -4], [5, 5, 5, -5, 1.25]]) {
      const shape = [logits.length]
      const [entropy] = entropyFromLogits(tensor(shape, ...logits)).data
      expect(entropy).toBeGreaterThanOrEqual(0)
      expect(entropy).toBeLessThanOrEqual(Math.log(logits.length) + 1e-12)
      for (const added of [-50, 0.1, 1e4]) {
        const moved = entropyFromLogits(tensor(shape, ...logits.map((each) => each + added)))
        expect(moved.data[0]).toBeCloseTo(entropy, 10)
      }
    }
  })

  it('refuses an axis that does not exist', () => {
    for (const axis of [2, -3, 0.5, Number.NaN]) {
      expect(() => entropyFromLogits(tensor([1, 2], 0, 0), axis)).toThrow(coded('ERR_AXIS'))
      expect(() => entropyGradient(tensor([1, 2], 0, 0), axis)).toThrow(coded('ERR_AXIS'))
    }
  })
})

describe('entropyGradient', () => {
  it('is the gradient of the sum of all entropies, along any axis', () => {
    const values = [0.3, -1.2, 2, 0.5, 0.1, -0.4]
    const step = 1e-6
    for (const axis of [0, 1]) {
      const sumAt = (given: readonly number[]) =>
        [...entropyFromLogits(tensor([2, 3], ...given), axis).data].reduce((sum, each) => sum + each, 0)
      const { data, shape } = entropyGradient(tensor([2, 3], ...values), axis)
      expect(shape).toEqual([2, 3])
      for (const [k, gradient] of data.entries()) {
        const moved = (by: number) => values.map((value, at) => (at === k ? value + by : value))
        expect(gradient).toBeCloseTo((sumAt(moved(step)) - sumAt(moved(-step))) / (2 * step), 8)
      }
    }
  })

  it('is 0 where the distribution is certain or uniform', () => {
    for (const logits of [
      [0, Number.NEGATIVE_INFINITY],
      [4, 4],
    ]) {
      for (const gradient of entropyGradient(tensor([2], ...logits)).data) expect(gradient).toBeCloseTo(0, 12)
    }
  })
})
