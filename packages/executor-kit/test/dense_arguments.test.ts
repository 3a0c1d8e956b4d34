import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/coded.mjs'
import {
  checkEmbedding,
  checkEmbeddingGradient,
  checkHyperparameter,
  checkIdValues,
  checkLinear,
  checkLinearGradients,
  checkSoftmaxCrossEntropy,
  checkUpdate,
} from '../src/index.js'
import { ids, stubTensor, zeros } from './stub_tensor.js'

const refusal = (code: string, argument: string) => coded(code, { argument })

describe('checkLinear', () => {
  it('returns the sizes, all leading dimensions being rows', () => {
    const sizes = checkLinear('float32', zeros(2, 5, 3), zeros(3, 4), zeros(4))
    expect(sizes).toEqual({ rows: 10, inputs: 3, outputs: 4 })
  })

  it('refuses operands that do not fit', () => {
    const check = (input: number[], kernel: number[], bias: number[]) => () =>
      checkLinear('float32', zeros(...input), zeros(...kernel), zeros(...bias))
    expect(check([2, 3], [3], [4])).toThrow(refusal('ERR_SHAPE', 'kernel'))
    expect(check([2, 5], [3, 4], [4])).toThrow(refusal('ERR_SHAPE', 'input'))
    expect(check([2, 5], [3, 4], [4])).toThrow(/must have shape \[N1,3\]: current shape is \[2,5\]/)
    expect(check([], [3, 4], [4])).toThrow(refusal('ERR_SHAPE', 'input'))
    expect(check([2, 3], [3, 4], [3])).toThrow(refusal('ERR_SHAPE', 'bias'))
    expect(() => checkLinear('float64', zeros(1), zeros(1, 1), zeros(1))).toThrow(refusal('ERR_DTYPE', 'kernel'))
    expect(() => checkLinear('float32', zeros(2, 3), zeros(3, 4), undefined as never)).toThrow(
      refusal('ERR_NOT_A_TENSOR', 'bias'),
    )
  })
})

describe('checkLinearGradients', () => {
  it('returns the sizes, and refuses an output gradient of another shape than the output', () => {
    const check = (...shape: number[]) => checkLinearGradients('float32', zeros(2, 5, 3), zeros(3, 4), zeros(...shape))
    expect(check(2, 5, 4)).toEqual({ rows: 10, inputs: 3, outputs: 4 })
    expect(() => check(10, 4)).toThrow(refusal('ERR_SHAPE', 'outputGradient'))
  })
})

describe('checkEmbedding', () => {
  it('returns the sizes of the table, and refuses floating ids and tables of another rank', () => {
    expect(checkEmbedding('float32', zeros(5, 3), ids(2, 2))).toEqual({ vocabulary: 5, columns: 3 })
    expect(() => checkEmbedding('float32', zeros(5, 3), zeros(2))).toThrow(refusal('ERR_DTYPE', 'ids'))
    expect(() => checkEmbedding('float32', zeros(5), ids(2))).toThrow(refusal('ERR_SHAPE', 'table'))
  })
})

describe('checkEmbeddingGradient', () => {
  it('returns the columns, and refuses a gradient that does not have the shape of the ids and one more axis', () => {
    expect(checkEmbeddingGradient('float32', ids(2, 4), zeros(2, 4, 3))).toBe(3)
    expect(() => checkEmbeddingGradient('float32', zeros(2), zeros(2, 3))).toThrow(refusal('ERR_DTYPE', 'ids'))
    for (const shape of [
      [2, 4],
      [8, 3],
      [2, 5, 3],
    ]) {
      const check = () => checkEmbeddingGradient('float32', ids(2, 4), zeros(...shape))
      expect(check).toThrow(refusal('ERR_SHAPE', 'outputGradient'))
    }
  })
})

describe('checkIdValues', () => {
  it('refuses ids outside the table, naming the position', () => {
    expect(() => checkIdValues('embed', 'ids', Int32Array.of(0, 4), 5)).not.toThrow()
    for (const id of [-1, 5]) {
      const outside = coded('ERR_ID_OUT_OF_RANGE', { index: 1, value: id, maximum: 4 })
      expect(() => checkIdValues('embed', 'ids', Int32Array.of(0, id), 5)).toThrow(outside)
    }
  })
})

describe('checkSoftmaxCrossEntropy', () => {
  it('returns rows and classes', () => {
    expect(checkSoftmaxCrossEntropy('float32', zeros(2, 3, 7), ids(2, 3), zeros(2, 3))).toEqual({ rows: 6, classes: 7 })
  })

  it('refuses operands that do not fit', () => {
    expect(() => checkSoftmaxCrossEntropy('float32', zeros(), ids())).toThrow(refusal('ERR_SHAPE', 'logits'))
    expect(() => checkSoftmaxCrossEntropy('float32', zeros(2, 3), ids(3))).toThrow(refusal('ERR_SHAPE', 'labels'))
    expect(() => checkSoftmaxCrossEntropy('float32', zeros(2, 3), zeros(2))).toThrow(refusal('ERR_DTYPE', 'labels'))
    const check = () => checkSoftmaxCrossEntropy('float32', zeros(2, 3), ids(2), zeros(3))
    expect(check).toThrow(refusal('ERR_SHAPE', 'weights'))
  })
})

describe('checkUpdate', () => {
  const variable = stubTensor([4], { layout: 'lstm' })

  it('takes operands of one shape, dtype and layout', () => {
    expect(() => checkUpdate('apply SGD', 'float32', { variable, gradient: zeros(4) })).not.toThrow()
  })

  it('refuses operands that differ', () => {
    const check = (gradient: ReturnType<typeof stubTensor>) => () =>
      checkUpdate('apply SGD', 'float32', { variable, gradient })
    expect(check(stubTensor([5]))).toThrow(refusal('ERR_SHAPE', 'gradient'))
    expect(check(stubTensor([4], { dtype: 'float64' }))).toThrow(refusal('ERR_DTYPE', 'gradient'))
    expect(check(stubTensor([4], { layout: 'gru' }))).toThrow(refusal('ERR_OTHER_LAYOUT', 'gradient'))
    expect(check(stubTensor([4], { disposed: true }))).toThrow(refusal('ERR_TENSOR_DISPOSED', 'gradient'))
  })
})

describe('checkHyperparameter', () => {
  it('takes finite numbers within the bounds and refuses others, saying the bounds', () => {
    const check = (value: number, bounds?: object) => () => checkHyperparameter('apply Adam', 'beta1', value, bounds)
    expect(check(-3)).not.toThrow()
    expect(check(0, { minimum: 0, below: 1 })).not.toThrow()
    for (const value of [1, -0.1, Number.NaN, Number.POSITIVE_INFINITY]) {
      const refused = coded('ERR_HYPERPARAMETER', { option: 'beta1', value })
      expect(check(value, { minimum: 0, below: 1 })).toThrow(refused)
    }
    expect(check(Number.NaN)).toThrow('beta1 must be a finite number: current value is NaN')
    expect(check(2, { below: 1 })).toThrow('beta1 must be a finite number < 1: current value is 2')
  })
})
