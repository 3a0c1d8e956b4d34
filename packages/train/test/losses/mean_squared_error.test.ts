import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { meanSquaredError } from '../../src/index.js'

const tensor = (shape: number[], ...values: number[]) => ({ data: Float64Array.from(values), shape })

describe('meanSquaredError', () => {
  it('is the mean of the squares, with the gradients 2·(p - t)/N and its negative', () => {
    const { loss, gradients } = meanSquaredError(tensor([2, 2], 1, 2, 3, 4), tensor([2, 2], 1, 0, 4, 8))
    expect(loss).toBe((0 + 4 + 1 + 16) / 4)
    expect(gradients.predictions).toEqual(tensor([2, 2], 0, 1, -0.5, -2))
    expect([...gradients.targets.data]).toEqual([-0, -1, 0.5, 2])
  })

  it('divides by the sum of the weights, and passes over elements of weight 0, NaN among them', () => {
    const predictions = tensor([4], 1, Number.NaN, 5, Number.POSITIVE_INFINITY)
    const { loss, gradients } = meanSquaredError(predictions, tensor([4], 0, 1, 2, 3), tensor([4], 3, 0, 1, 0))
    expect(loss).toBe((3 * 1 + 9) / 4)
    expect([...gradients.predictions.data]).toEqual([1.5, 0, 1.5, 0])
  })

  it('is 0 where nothing counts', () => {
    const masked = meanSquaredError(tensor([2], 1, 2), tensor([2], 3, 4), tensor([2], 0, 0))
    expect(masked.loss).toBe(0)
    expect([...masked.gradients.predictions.data]).toEqual([0, 0])
    expect(meanSquaredError(tensor([0, 2]), tensor([0, 2])).loss).toBe(0)
  })

  it('takes a scalar and keeps float32', () => {
    const single = (value: number) => ({ data: Float32Array.of(value), shape: [] })
    const { loss, gradients } = meanSquaredError(single(3), single(1))
    expect(loss).toBe(4)
    expect(gradients.targets).toEqual({ data: Float32Array.of(-4), shape: [] })
  })

  it('refuses other shapes and element types', () => {
    const of = tensor([2], 1, 2)
    expect(() => meanSquaredError(of, tensor([1, 2], 1, 2))).toThrow(coded('ERR_SHAPE'))
    expect(() => meanSquaredError(of, of, tensor([1], 1))).toThrow(coded('ERR_SHAPE'))
    expect(() => meanSquaredError(of, { data: Float32Array.of(1, 2), shape: [2] })).toThrow(coded('ERR_DTYPE'))
    expect(() => meanSquaredError({ data: Int32Array.of(1), shape: [1] } as never, of)).toThrow(coded('ERR_DTYPE'))
  })
})
