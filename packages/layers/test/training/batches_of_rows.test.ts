import { Dataset } from '@cudnn-rnn/train'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { batchesOf } from '../../src/training/batches.js'
import { stepWeights } from '../../src/training/joined_rows.js'
import { batchesIn, sequence, shape } from './drawn_batches.js'

function transferred<Elements extends Float64Array | Float32Array>(elements: Elements): Elements {
  structuredClone(elements.buffer, { transfer: [elements.buffer as ArrayBuffer] })
  return elements
}

describe('batchesOf batches', () => {
  const batch = { input: sequence(1, 2), labels: { data: Int32Array.of(1), shape: [1] } }

  it('refuses a Dataset of examples without a batchSize', async () => {
    const examples = Dataset.fromArray([{ input: sequence(1, 2), label: 1 }])
    await expect(batchesIn(examples as never, {}, shape())).rejects.toThrow(
      coded('ERR_EXAMPLE', { message: expect.stringMatching(/Give batchSize to batch examples/) }),
    )
  })

  it('passes them on', async () => {
    expect(await batchesIn([batch, { ...batch, restarts: false }], {}, shape())).toEqual([
      batch,
      { ...batch, restarts: false },
    ])
  })

  it.each<[unknown, RegExp]>([
    [{ ...batch, restarts: 1 }, /restarts of a batch must be a boolean: current value is 1/],
    ['batch', /a batch \{ input, labels \}/],
  ])('refuses %o', async (given, message) => {
    await expect(batchesIn([given], {}, shape())).rejects.toThrow(
      coded('ERR_EXAMPLE', { message: expect.stringMatching(message) }),
    )
  })

  it.each([3, 'data', null, {}])('refuses the data %o', (data) => {
    expect(() => batchesOf(data as never, {}, shape())).toThrow(coded('ERR_EXAMPLE'))
  })

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY])('refuses a weight of %s', async (weight) => {
    const weights = { data: Float32Array.of(1, weight), shape: [2] }
    await expect(batchesIn([{ ...batch, weights }], {}, shape())).rejects.toThrow(coded('ERR_EXAMPLE'))
  })

  it('refuses fields that are not read, unless the loss is a function', async () => {
    const unknown = coded('ERR_UNKNOWN_OPTION', { option: 'weight', suggestion: 'weights' })
    await expect(batchesIn([{ ...batch, weight: 1 }], {}, shape())).rejects.toThrow(unknown)
    const example = { input: sequence(1, 2), label: 0, weights: 2 }
    await expect(batchesIn([example], { batchSize: 1 }, shape())).rejects.toThrow(coded('ERR_UNKNOWN_OPTION'))
    const own = shape({ loss: () => Promise.reject(new Error('not called')) })
    expect(await batchesIn([{ ...batch, weight: 1 }], {}, own)).toEqual([{ ...batch, weight: 1 }])
  })

  it.each<[string, unknown]>([
    ['a hole', Array.from({ length: 3 }, (_, k) => k).concat(new Array(1))],
    ['more numbers than its shape has', Float32Array.of(1, 2, 3, 4, 5)],
    ['numbers of a transferred buffer', transferred(Float64Array.of(1, 2, 3, 4))],
  ])('refuses an example with %s', async (_, data) => {
    const examples = [{ input: { data, shape: [2, 2] }, label: 0 }]
    await expect(batchesIn(examples, { batchSize: 1 }, shape())).rejects.toThrow(coded('ERR_EXAMPLE'))
  })

  it('refuses an empty array', () => {
    for (const options of [{}, { batchSize: 2 }]) {
      expect(() => batchesOf([], options, shape())).toThrow(/there must be at least one: current number is 0/)
    }
  })
})

describe('stepWeights', () => {
  it('are 1 within each length', () => {
    expect(stepWeights(3, [1, 3], 'float32')).toEqual({ data: Float32Array.of(1, 1, 0, 1, 0, 1), shape: [3, 2] })
    expect(stepWeights(2, [0], 'float64').data).toEqual(new Float64Array(2))
  })
})
