import { describe, expect, it } from 'vitest'
import { countHits } from '../../src/training/losses.js'

const tensor = (shape: number[], ...values: number[]) => ({ data: Float32Array.from(values), shape })
const ids = (shape: number[], ...values: number[]) => ({ data: Int32Array.from(values), shape })

describe('countHits', () => {
  const logits = tensor([3, 3], 1, 5, 2, 9, 0, 0, -3, -1, -2)

  it('compares the largest logit with the label, the first of equals', () => {
    expect(countHits('softmax_cross_entropy', logits, ids([3], 1, 0, 2), undefined)).toEqual({ hits: 2, total: 3 })
    expect(countHits('softmax_cross_entropy', tensor([1, 2], 4, 4), ids([1], 0), undefined).hits).toBe(1)
    expect(countHits('softmax_cross_entropy', tensor([1, 2], 4, 4), ids([1], 1), undefined).hits).toBe(0)
  })

  it('counts rows by their weights, and a row of weight 0 not at all', () => {
    const weights = tensor([3], 2, 0, 0.5)
    expect(countHits('softmax_cross_entropy', logits, ids([3], 1, 2, 1), weights)).toEqual({ hits: 2.5, total: 2.5 })
  })

  it('counts the share of outputs on the side of their label for sigmoid_cross_entropy', () => {
    const outputs = tensor([2, 2], 1, -1, 0, 3)
    const labels = tensor([2, 2], 1, 1, 0, 1)
    // A logit of 0 is a probability of 1/2, which is not above it.
    expect(countHits('sigmoid_cross_entropy', outputs, labels, undefined)).toEqual({ hits: 1.5, total: 2 })
  })

  it.each(['mean_squared_error', 'mean_absolute_error'] as const)('has no hits for %s', (loss) => {
    expect(countHits(loss, tensor([2, 1], 1, 2), tensor([2, 1], 1, 2), undefined)).toEqual({ hits: 0, total: 2 })
  })

  it('takes the steps of a sequence as rows', () => {
    const steps = tensor([2, 2, 2], 1, 0, 0, 1, 1, 0, 1, 0)
    const weights = tensor([2, 2], 1, 1, 1, 0)
    expect(countHits('softmax_cross_entropy', steps, ids([2, 2], 0, 1, 1, 0), weights)).toEqual({ hits: 2, total: 3 })
  })
})
