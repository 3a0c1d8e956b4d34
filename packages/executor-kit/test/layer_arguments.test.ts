import { describeValue } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/coded.mjs'
import { Philox } from '../src/index.js'
import {
  checkInteger,
  checkLengthValues,
  checkOneOf,
  checkRows,
  checkSameCount,
  checkSequence,
  checkTensorList,
  completeActivation,
  completePool,
  dropoutMask,
} from '../src/layer_arguments.js'
import { ids, zeros } from './stub_tensor.js'

describe('checkRows', () => {
  it.each([
    [[3], 1, 3],
    [[2, 3], 2, 3],
    [[4, 2, 3], 8, 3],
    [[0, 3], 0, 3],
    [[2, 0], 2, 0],
  ])('takes %o as %i rows of %i columns', (shape, rows, columns) => {
    expect(checkRows('add', 'float32', 'input', zeros(...shape))).toEqual({ rows, columns })
  })

  it('refuses a scalar and another type', () => {
    expect(() => checkRows('add', 'float32', 'input', zeros())).toThrow(coded('ERR_SHAPE'))
    expect(() => checkRows('add', 'float64', 'input', zeros(2))).toThrow(coded('ERR_DTYPE'))
  })
})

describe('checkSequence', () => {
  it('takes [T,B,E] and lengths [B]', () => {
    expect(checkSequence('pool', 'float32', zeros(4, 2, 3), ids(2))).toEqual({ time: 4, batch: 2, columns: 3 })
    expect(checkSequence('pool', 'float32', zeros(0, 2, 3), undefined)).toMatchObject({ time: 0 })
  })

  it.each([
    ['ERR_SHAPE', zeros(4, 2), undefined],
    ['ERR_SHAPE', zeros(4, 2, 3), ids(4)],
    ['ERR_DTYPE', zeros(4, 2, 3), zeros(2)],
  ])('refuses with %s %#', (code, input, lengths) => {
    expect(() => checkSequence('pool', 'float32', input, lengths)).toThrow(coded(code))
  })
})

describe('checkLengthValues', () => {
  it('takes lengths of 0..T and names the first row with another', () => {
    checkLengthValues('pool', Int32Array.of(0, 4), 4)
    for (const [row, lengths] of [
      [1, Int32Array.of(4, 5, -1)],
      [0, Int32Array.of(-1, 5)],
    ] as const) {
      expect(() => checkLengthValues('pool', lengths, 4)).toThrow(
        coded('ERR_SEQUENCE_LENGTHS', { row, value: lengths[row], maximum: 4 }),
      )
    }
  })
})

describe('checkOneOf, checkInteger', () => {
  it('return the value', () => {
    expect(checkOneOf('pool', 'pooling', 'max', ['mean', 'max'])).toBe('max')
    expect([0, 3].map((value) => checkInteger('take', 'begin', value, [0, 3]))).toEqual([0, 3])
  })

  it.each(['sum', 'MAX', undefined, 1])('checkOneOf refuses %s', (value) => {
    const refuse = () => checkOneOf('pool', 'pooling', value, ['mean', 'max'])
    expect(refuse).toThrow(
      coded('ERR_INVALID_OPTION', {
        message: `Cannot pool as pooling must be one of mean, max: current value is ${describeValue(value)}`,
        option: 'pooling',
        value,
      }),
    )
  })

  it.each([-1, 4, 0.5, Number.NaN, '1', 1n, undefined])('checkInteger refuses %s', (value) => {
    const refuse = () => checkInteger('take', 'begin', value, [0, 3])
    expect(refuse).toThrow(coded('ERR_INVALID_OPTION', { option: 'begin', value }))
  })
})

describe('dropoutMask', () => {
  it('splits seed and draw into words that hold them exactly', () => {
    const [seed, draw] = [3 * 2 ** 32 + 7, 5 * 2 ** 24 + 9]
    expect(dropoutMask({ rate: 0.25, seed, draw })).toEqual({
      ...{ seedLow: 7, seedHigh: 3, drawLow: 9, drawHigh: 5 },
      ...{ threshold: 2 ** 22, kept: 1 / 0.75 },
    })
    const largest = dropoutMask({ rate: 0, seed: Number.MAX_SAFE_INTEGER, draw: 2 ** 48 - 1 })
    expect(largest).toMatchObject({
      ...{ seedLow: 2 ** 32 - 1, seedHigh: 2 ** 21 - 1 },
      ...{ drawLow: 2 ** 24 - 1, drawHigh: 2 ** 24 - 1 },
    })
  })

  it('drops nothing at rate 0 and everything at rate 1', () => {
    expect(dropoutMask({ rate: 0, seed: 1, draw: 0 })).toMatchObject({ threshold: 0, kept: 1 })
    expect(dropoutMask({ rate: 1, seed: 1, draw: 0 })).toMatchObject({ threshold: 2 ** 24, kept: 0 })
  })

  it('drops a word exactly where its uniform number is below the rate', () => {
    const words = new Philox(11)
    for (const rate of [1e-9, 0.1, 1 / 3, 0.5, 0.999_999_99]) {
      const { threshold } = dropoutMask({ rate, seed: 1, draw: 0 })
      for (let word = 0; word < 1000; word++) {
        const bits = words.uint32() >>> 8
        expect(bits < threshold).toBe(bits / 2 ** 24 < rate)
      }
    }
  })

  it.each([
    ['ERR_INVALID_OPTION', { rate: -0.1, seed: 1, draw: 0 }],
    ['ERR_INVALID_OPTION', { rate: 1.1, seed: 1, draw: 0 }],
    ['ERR_INVALID_OPTION', { rate: Number.NaN, seed: 1, draw: 0 }],
    ['ERR_INVALID_OPTION_TYPE', { rate: '0.5', seed: 1, draw: 0 }],
    ['ERR_INVALID_OPTION', { rate: 0.5, seed: 2 ** 53, draw: 0 }],
    ['ERR_INVALID_OPTION', { rate: 0.5, seed: 1, draw: 2 ** 48 }],
    ['ERR_INVALID_OPTION_TYPE', { rate: 0.5, seed: 1 }],
    ['ERR_UNKNOWN_OPTION', { rate: 0.5, seed: 1, draw: 0, training: true }],
  ])('refuses with %s %o', (code, options) => {
    expect(() => dropoutMask(options as never)).toThrow(coded(code))
  })
})

describe('completePool', () => {
  it('reverses no column by default', () => {
    expect(completePool('pool', { pooling: 'last' }, 6)).toEqual({ pooling: 'last', reversedFrom: 6 })
    expect(completePool('pool', { pooling: 'last', reversedFrom: 0 }, 6).reversedFrom).toBe(0)
  })

  it.each([
    ['ERR_INVALID_OPTION', { pooling: 'sum' }],
    ['ERR_INVALID_OPTION_TYPE', { pooling: undefined }],
    ['ERR_INVALID_OPTION', { pooling: 'max', reversedFrom: 7 }],
    ['ERR_INVALID_OPTION', { pooling: 'max', reversedFrom: -1 }],
    ['ERR_UNKNOWN_OPTION', { pooling: 'max', axis: 0 }],
  ])('refuses with %s %o', (code, options) => {
    expect(() => completePool('pool', options as never, 6)).toThrow(coded(code))
  })
})

describe('completeActivation', () => {
  it('has no maximum by default', () => {
    expect(completeActivation('apply', 'tanh', {})).toEqual({ activation: 'tanh', maximum: Number.POSITIVE_INFINITY })
    expect(completeActivation('apply', 'relu', { maximum: 6 })).toEqual({ activation: 'relu', maximum: 6 })
  })

  it.each<[string, unknown, unknown]>([
    ['ERR_INVALID_OPTION', 'swish', {}],
    ['ERR_INVALID_OPTION', 'tanh', { maximum: 6 }],
    ['ERR_INVALID_OPTION', 'relu', { maximum: 0 }],
    ['ERR_INVALID_OPTION', 'relu', { maximum: Number.NaN }],
    ['ERR_INVALID_OPTION', 'relu', { maximum: '6' }],
    ['ERR_UNKNOWN_OPTION', 'relu', { minimum: 0 }],
    ['ERR_INVALID_OPTION_TYPE', 'relu', null],
  ])('refuses with %s %s %o', (code, activation, options) => {
    expect(() => completeActivation('apply', activation, options as never)).toThrow(coded(code))
  })
})

describe('checkSameCount', () => {
  it('takes another shape of as many elements', () => {
    checkSameCount('reshape', [2, 3], [3, 2])
    checkSameCount('reshape', [], [1, 1])
    for (const shape of [[2, 2], [-2, -3], [1.5, 4], 6]) {
      expect(() => checkSameCount('reshape', [2, 3], shape as never)).toThrow(
        coded('ERR_SHAPE', { message: expect.stringContaining('shape must have 6 elements, as [2,3]') }),
      )
    }
  })
})

describe('checkTensorList', () => {
  it('takes an array of one tensor or more', () => {
    checkTensorList('concatenate', [zeros(1)])
    for (const inputs of [[], undefined, zeros(1), 'a']) {
      expect(() => checkTensorList('concatenate', inputs as never)).toThrow(coded('ERR_NOT_A_TENSOR'))
    }
  })
})
