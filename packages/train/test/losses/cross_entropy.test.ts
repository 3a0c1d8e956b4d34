import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { crossEntropy, sparseCrossEntropy } from '../../src/index.js'

const tensor = (shape: number[], ...values: number[]) => ({ data: Float64Array.from(values), shape })
const ids = (...values: number[]) => ({ data: Int32Array.from(values), shape: [values.length] })

/** Logits of these probabilities; softmax gives the probabilities back. */
const logitsOf = (shape: number[], ...probabilities: number[]) => tensor(shape, ...probabilities.map(Math.log))

describe('sparseCrossEntropy', () => {
  it('is the mean of -ln p of the labels', () => {
    const logits = logitsOf([2, 2], 0.25, 0.75, 0.5, 0.5)
    const { loss, rowLosses, gradients } = sparseCrossEntropy(logits, ids(0, 1))
    expect(rowLosses.shape).toEqual([2])
    expect(rowLosses.data[0]).toBeCloseTo(Math.log(4), 12)
    expect(rowLosses.data[1]).toBeCloseTo(Math.log(2), 12)
    expect(loss).toBeCloseTo(Math.log(8) / 2, 12)
    // (p - label)/N
    for (const [k, expected] of [-0.375, 0.375, 0.25, -0.25].entries()) {
      expect(gradients.logits.data[k]).toBeCloseTo(expected, 12)
    }
    expect(gradients.labels).toBeUndefined()
  })

  it('spreads the smoothed share of the label evenly', () => {
    const logits = logitsOf([1, 4], 0.1, 0.2, 0.3, 0.4)
    const { loss, gradients } = sparseCrossEntropy(logits, ids(2), { labelSmoothing: 0.2 })
    const labels = [0.05, 0.05, 0.85, 0.05]
    const expected = -labels.reduce((sum, label, k) => sum + label * Math.log([0.1, 0.2, 0.3, 0.4][k]), 0)
    expect(loss).toBeCloseTo(expected, 12)
    for (const [k, label] of labels.entries()) {
      expect(gradients.logits.data[k]).toBeCloseTo((k + 1) / 10 - label, 12)
    }
  })

  it('divides by the sum of the weights, and masks rows of weight 0, also with NaN', () => {
    const rows = [Math.log(0.25), Math.log(0.75), Number.NaN, Number.POSITIVE_INFINITY, 0, 0]
    const weights = tensor([3], 3, 0, 1)
    const { loss, gradients } = sparseCrossEntropy(tensor([3, 2], ...rows), ids(0, 0, 1), { weights })
    expect(loss).toBeCloseTo((3 * Math.log(4) + Math.log(2)) / 4, 12)
    const expected = [-0.75 * 0.75, 0.75 * 0.75, 0, 0, 0.125, -0.125]
    for (const [k, value] of expected.entries()) expect(gradients.logits.data[k]).toBeCloseTo(value, 12)
  })

  it('is 0 where no row counts', () => {
    const all = sparseCrossEntropy(logitsOf([2, 2], 0.1, 0.9, 0.5, 0.5), ids(0, 0), { weights: tensor([2], 0, 0) })
    expect(all.loss).toBe(0)
    expect([...all.gradients.logits.data]).toEqual([0, 0, 0, 0])
    const none = sparseCrossEntropy(tensor([0, 3]), ids())
    expect(none.loss).toBe(0)
    expect(none.gradients.logits.shape).toEqual([0, 3])
  })

  it('does not let a class of probability 0 make the loss NaN', () => {
    const logits = tensor([1, 3], 0, 0, Number.NEGATIVE_INFINITY)
    const { loss, gradients } = sparseCrossEntropy(logits, ids(0))
    expect(loss).toBeCloseTo(Math.log(2), 12)
    expect([...gradients.logits.data]).toEqual([-0.5, 0.5, 0])
  })

  it('takes leading dimensions of any number', () => {
    const logits = logitsOf([1, 2, 2], 0.25, 0.75, 0.5, 0.5)
    const labels = { data: Int32Array.of(1, 0), shape: [1, 2] }
    const { rowLosses, gradients } = sparseCrossEntropy(logits, labels)
    expect(rowLosses.shape).toEqual([1, 2])
    expect(gradients.logits.shape).toEqual([1, 2, 2])
    expect(sparseCrossEntropy(tensor([3], 0, 0, 0), { data: Int32Array.of(2), shape: [] }).loss).toBeCloseTo(
      Math.log(3),
      12,
    )
  })

  it('refuses labels outside the classes, and shapes and options that do not fit', () => {
    const logits = tensor([2, 2], 1, 2, 3, 4)
    for (const label of [2, -1]) {
      expect(() => sparseCrossEntropy(logits, ids(0, label))).toThrow(coded('ERR_ID_OUT_OF_RANGE'))
    }
    expect(() => sparseCrossEntropy(logits, ids(0))).toThrow(coded('ERR_SHAPE'))
    expect(() => sparseCrossEntropy(tensor([], 1), ids())).toThrow(coded('ERR_SHAPE'))
    expect(() => sparseCrossEntropy(logits, ids(0, 1), { weights: tensor([1], 1) })).toThrow(coded('ERR_SHAPE'))
    for (const labelSmoothing of [-0.1, 1.1, Number.NaN]) {
      expect(() => sparseCrossEntropy(logits, ids(0, 1), { labelSmoothing })).toThrow(coded('ERR_INVALID_OPTION'))
    }
    expect(() => sparseCrossEntropy(logits, ids(0, 1), { labelSmoothing: '0' as never })).toThrow(
      coded('ERR_INVALID_OPTION_TYPE', { option: 'labelSmoothing' }),
    )
    expect(() => sparseCrossEntropy(logits, ids(0, 1), { smoothing: 0.1 } as never)).toThrow(
      coded('ERR_UNKNOWN_OPTION'),
    )
  })
})

describe('crossEntropy', () => {
  it('agrees with class ids where the labels are one-hot', () => {
    const logits = logitsOf([2, 3], 0.2, 0.3, 0.5, 0.1, 0.1, 0.8)
    const weights = tensor([2], 1, 3)
    const options = { weights, labelSmoothing: 0.1 }
    const dense = crossEntropy(logits, tensor([2, 3], 0, 1, 0, 0, 0, 1), options)
    const sparse = sparseCrossEntropy(logits, ids(1, 2), options)
    expect(dense.loss).toBeCloseTo(sparse.loss, 14)
    for (const [k, value] of sparse.gradients.logits.data.entries()) {
      expect(dense.gradients.logits.data[k]).toBeCloseTo(value, 14)
    }
  })

  it('has the gradient of labels that do not add up to 1', () => {
    const values = [0.7, 1.5, 0.1, -0.3]
    const logits = tensor([2, 2], 0.3, -1.2, 2, 0.5)
    const weights = tensor([2], 1, 3)
    const lossOf = (given: number[], x = logits.data) =>
      crossEntropy({ data: x, shape: [2, 2] }, tensor([2, 2], ...given), { weights, labelSmoothing: 0.25 }).loss
    const { gradients } = crossEntropy(logits, tensor([2, 2], ...values), { weights, labelSmoothing: 0.25 })
    const step = 1e-6
    for (let k = 0; k < 4; k++) {
      const moved = (by: number) => values.map((value, at) => (at === k ? value + by : value))
      // Linear in the labels.
      expect(gradients.labels?.data[k]).toBeCloseTo((lossOf(moved(1)) - lossOf(moved(-1))) / 2, 10)
      const shifted = (by: number) => logits.data.map((value, at) => (at === k ? value + by : value))
      const difference = (lossOf(values, shifted(step)) - lossOf(values, shifted(-step))) / (2 * step)
      expect(gradients.logits.data[k]).toBeCloseTo(difference, 7)
    }
  })

  it('keeps float32 where the logits are, and refuses two element types', () => {
    const single = { data: Float32Array.of(1, 2), shape: [1, 2] }
    const labels = { data: Float32Array.of(0, 1), shape: [1, 2] }
    expect(crossEntropy(single, labels).gradients.labels?.data).toBeInstanceOf(Float32Array)
    expect(() => crossEntropy(single, tensor([1, 2], 0, 1))).toThrow(coded('ERR_DTYPE'))
    expect(() => crossEntropy(single, { data: Float32Array.of(1), shape: [1, 1] })).toThrow(coded('ERR_SHAPE'))
  })

  it('gives labels of a masked row the gradient 0, also where its logits are not finite', () => {
    const logits = tensor([2, 2], Number.NEGATIVE_INFINITY, 0, Number.NaN, 1)
    const { loss, gradients } = crossEntropy(logits, tensor([2, 2], 0, 1, 0, 1), { weights: tensor([2], 0, 0) })
    expect(loss).toBe(0)
    expect(gradients.labels?.data.every((value) => value === 0)).toBe(true)
  })
})
