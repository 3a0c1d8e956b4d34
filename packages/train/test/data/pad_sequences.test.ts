import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { padSequences } from '../../src/index.js'

const ids = (...data: number[]) => ({ data: Int32Array.from(data), shape: [data.length] })

describe('padSequences', () => {
  it('keeps the element type, and pads with 0 by default', () => {
    const { tensor, mask } = padSequences([ids(7), ids(8, 9)])
    expect(tensor).toEqual({ data: Int32Array.of(7, 8, 0, 9), shape: [2, 2] })
    expect(mask).toEqual({ data: Float32Array.of(1, 1, 0, 1), shape: [2, 2] })
  })

  it('gives a sequence without steps a row of padding', () => {
    const { tensor, lengths, mask } = padSequences([ids(), ids(5)], -1)
    expect(tensor).toEqual({ data: Int32Array.of(-1, 5), shape: [1, 2] })
    expect([...lengths]).toEqual([0, 1])
    expect([...mask.data]).toEqual([0, 1])
  })

  it('of sequences without steps alone has no steps', () => {
    expect(padSequences([ids(), ids()]).tensor).toEqual({ data: new Int32Array(0), shape: [0, 2] })
  })

  it('refuses rows of several types, and padding that its type cannot hold', () => {
    const rows = [ids(1), { data: Float32Array.of(1.5), shape: [1] }]
    expect(() => padSequences<Int32Array | Float32Array>(rows)).toThrow(coded('ERR_DTYPE', { row: 1 }))
    for (const value of [0.5, Number.NaN, 2 ** 31]) {
      expect(() => padSequences([ids(1), ids(2, 3)], value)).toThrow(coded('ERR_INVALID_OPTION'))
    }
  })

  it('copies the elements: later writes into a sequence do not reach the batch', () => {
    const sequence = ids(1, 2)
    const { tensor } = padSequences([sequence])
    sequence.data[0] = 100
    expect([...tensor.data]).toEqual([1, 2])
  })

  it('joins steps of several axes', () => {
    const steps = (first: number, time: number) => ({
      data: Float64Array.from({ length: time * 4 }, (_, k) => first + k),
      shape: [time, 2, 2],
    })
    const { tensor } = padSequences([steps(0, 1), steps(10, 2)])
    expect(tensor.shape).toEqual([2, 2, 2, 2])
    expect([...tensor.data]).toEqual([0, 1, 2, 3, 10, 11, 12, 13, 0, 0, 0, 0, 14, 15, 16, 17])
  })

  it.each<[string, unknown, string]>([
    ['no sequences', [], 'ERR_EMPTY_BATCH'],
    ['a scalar', [{ data: Float32Array.of(1), shape: [] }], 'ERR_SHAPE'],
    ['another number of axes', [ids(1), { data: Int32Array.of(1), shape: [1, 1] }], 'ERR_SHAPE'],
    ['elements that do not fill the shape', [{ data: Int32Array.of(1, 2, 3), shape: [2] }], 'ERR_SHAPE'],
    ['a list for its elements', [{ data: [1], shape: [1] }], 'ERR_NOT_A_TENSOR'],
    ['one tensor that is not in a list', ids(1), 'ERR_INVALID_ARGUMENT'],
  ])('refuses %s', (_, sequences, code) => {
    expect(() => padSequences(sequences as never)).toThrow(coded(code))
  })

  it('refuses a padding that is not a number', () => {
    expect(() => padSequences([ids(1)], '0' as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  })
})
