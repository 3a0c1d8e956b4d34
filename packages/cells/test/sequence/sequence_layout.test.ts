import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  exchangeTimeAndBatch,
  isList,
  joinColumns,
  reverseSteps,
  stackSteps,
  takeColumns,
  unstackSteps,
  withoutPadding,
} from '../../src/sequence/sequence_layout.js'

/** [T = 3, B = 2, N = 2]: step, row and column in the digits. */
const sequence = () => ({
  data: Float64Array.of(0, 1, 10, 11, 100, 101, 110, 111, 200, 201, 210, 211),
  shape: [3, 2, 2],
})

describe('stackSteps and unstackSteps', () => {
  it('are inverses, with their own arrays', () => {
    const steps = unstackSteps(sequence())
    expect(steps.map(({ shape }) => shape)).toEqual([
      [2, 2],
      [2, 2],
      [2, 2],
    ])
    expect([...(steps[1]?.data ?? [])]).toEqual([100, 101, 110, 111])
    expect(stackSteps('run', 'inputs', steps)).toEqual(sequence())
    steps[0]?.data.fill(9)
    expect(sequence().data[0]).toBe(0)
  })

  it('take one tensor as it is', () => {
    const whole = sequence()
    expect(stackSteps('run', 'inputs', whole)).toBe(whole)
    expect([isList(whole), isList([whole])]).toEqual([false, true])
  })

  it('keep the type, and refuse an empty list', () => {
    const step = { data: Float32Array.of(1), shape: [1, 1] }
    expect(stackSteps('run', 'inputs', [step, step]).data).toEqual(Float32Array.of(1, 1))
    expect(() => stackSteps('run', 'inputs', [])).toThrow(
      coded('ERR_EMPTY_SEQUENCE', {
        message: expect.stringContaining('inputs must have at least one'),
        argument: 'inputs',
      }),
    )
  })
})

describe('exchangeTimeAndBatch', () => {
  it('is its own inverse', () => {
    const exchanged = exchangeTimeAndBatch(sequence())
    expect(exchanged.shape).toEqual([2, 3, 2])
    expect([...exchanged.data]).toEqual([0, 1, 100, 101, 200, 201, 10, 11, 110, 111, 210, 211])
    expect(exchangeTimeAndBatch(exchanged)).toEqual(sequence())
  })
})

describe('reverseSteps', () => {
  // tf.reverse_sequence leaves the steps past the length where they are.
  it.each([
    [null, [200, 201, 210, 211, 100, 101, 110, 111, 0, 1, 10, 11]],
    [Int32Array.of(2, 3), [100, 101, 210, 211, 0, 1, 110, 111, 200, 201, 10, 11]],
    [Int32Array.of(0, 1), [...sequence().data]],
  ])('with lengths %o', (lengths, expected) => {
    const reversed = reverseSteps(sequence(), lengths)
    expect([...reversed.data]).toEqual(expected)
    expect(reverseSteps(reversed, lengths)).toEqual(sequence())
  })
})

describe('withoutPadding', () => {
  it('puts zeros past each length, for NaN too, into a copy', () => {
    const given = sequence()
    given.data[10] = Number.NaN
    expect([...withoutPadding(given, Int32Array.of(1, 2)).data]).toEqual([0, 1, 10, 11, 0, 0, 110, 111, 0, 0, 0, 0])
    const whole = withoutPadding(given, null)
    whole.data[0] = 7
    expect(given.data[0]).toBe(0)
    expect(given.data[10]).toBeNaN()
  })
})

describe('joinColumns and takeColumns', () => {
  it('are inverses', () => {
    const [left, right] = [takeColumns(sequence(), 0, 1), takeColumns(sequence(), 1, 1)]
    expect([...right.data]).toEqual([1, 11, 101, 111, 201, 211])
    expect(joinColumns(left, right)).toEqual(sequence())
    expect(joinColumns(sequence(), left).shape).toEqual([3, 2, 3])
    expect([...joinColumns(sequence(), left).data.subarray(0, 6)]).toEqual([0, 1, 0, 10, 11, 10])
  })
})
