import { expectAllclose } from '@cudnn-rnn/conformance'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { constantRate, cosineRate, exponentialRate, piecewiseRate, type Schedule } from '../../src/index.js'
import { pytorch } from '../fixture.js'

const SCHEDULES: Readonly<Record<string, Schedule>> = {
  cosine: cosineRate({ peak: 1, final: 0.1, steps: 20 }),
  exponential: exponentialRate({ initial: 1, decay: 0.9 }),
  piecewise: piecewiseRate([5, 12], [1, 0.1, 0.01]),
}

it.each(Object.keys(SCHEDULES))('%s schedule equals PyTorch', (name) => {
  const rates = Array.from({ length: 21 }, (_, step) => SCHEDULES[name](step))
  expectAllclose(name, rates, pytorch.schedules[name], 1e-12)
})

it('cosineRate grows linearly over the warm-up, then falls and stays', () => {
  const rate = cosineRate({ peak: 2, steps: 14, warmup: 4 })
  expect([0, 1, 2, 3, 4].map(rate)).toEqual([0.5, 1, 1.5, 2, 2])
  expect(rate(9)).toBeCloseTo(1, 12)
  expect(rate(14)).toBe(0)
  expect(rate(1000)).toBe(0)
})

it('exponentialRate with staircase changes once per period; constantRate never', () => {
  const rate = exponentialRate({ initial: 1, decay: 0.5, every: 3, staircase: true })
  expect([0, 2, 3, 5, 6].map(rate)).toEqual([1, 1, 0.5, 0.5, 0.25])
  expect(constantRate(0.3)(1e6)).toBe(0.3)
})

it('schedules refuse invalid parameters', () => {
  expect(() => piecewiseRate([5, 5], [1, 2, 3])).toThrow(coded('ERR_SCHEDULE'))
  expect(() => piecewiseRate([5], [1])).toThrow(coded('ERR_SCHEDULE'))
  expect(() => cosineRate({ peak: 1, steps: 4, warmup: 4 })).toThrow(coded('ERR_HYPERPARAMETER'))
  expect(() => constantRate(-1)).toThrow(coded('ERR_HYPERPARAMETER'))
})

it('cosineRate does not exceed its peak in a warm-up that is not a whole number of steps', () => {
  const rate = cosineRate({ peak: 2, steps: 14, warmup: 2.5 })
  expect([0, 1].map(rate)).toEqual([0.8, 1.6])
  for (let step = 0; step < 14; step++) expect(rate(step)).toBeLessThanOrEqual(2)
})

it('cosineRate ends at `final`, which may be above the peak', () => {
  const rate = cosineRate({ peak: 0.1, steps: 8, final: 0.5 })
  expect(rate(0)).toBeCloseTo(0.1, 12)
  expect(rate(4)).toBeCloseTo(0.3, 12)
  expect([8, 9].map(rate)).toEqual([0.5, 0.5])
})

it('exponentialRate of another period passes through the same rates', () => {
  const rate = exponentialRate({ initial: 3, decay: 0.25, every: 2 })
  expect([0, 1, 2, 4].map(rate)).toEqual([3, 1.5, 0.75, 0.1875])
})

it('piecewiseRate changes at its boundaries, and without one is constant', () => {
  const rate = piecewiseRate([0, 2], [9, 1, 0.5])
  expect([0, 1, 2, 3].map(rate)).toEqual([1, 1, 0.5, 0.5])
  expect([0, 1e9].map(piecewiseRate([], [0.25]))).toEqual([0.25, 0.25])
})

it.each<[string, () => unknown, string]>([
  ['a rate that is not finite', () => constantRate(Number.POSITIVE_INFINITY), 'ERR_HYPERPARAMETER'],
  ['a period below one step', () => exponentialRate({ initial: 1, decay: 0.5, every: 0.5 }), 'ERR_HYPERPARAMETER'],
  ['a decay below 0', () => exponentialRate({ initial: 1, decay: -0.5 }), 'ERR_HYPERPARAMETER'],
  ['a rate below 0 among several', () => piecewiseRate([5], [1, -1]), 'ERR_HYPERPARAMETER'],
  ['boundaries that fall', () => piecewiseRate([5, 4], [1, 1, 1]), 'ERR_SCHEDULE'],
  ['a boundary of NaN', () => piecewiseRate([Number.NaN], [1, 1]), 'ERR_SCHEDULE'],
  ['another name', () => cosineRate({ peak: 1, steps: 4, warmUp: 1 } as never), 'ERR_UNKNOWN_OPTION'],
  ['a peak of text', () => cosineRate({ peak: '1', steps: 4 } as never), 'ERR_INVALID_OPTION_TYPE'],
  ['boundaries that are not a list', () => piecewiseRate(5 as never, [1]), 'ERR_INVALID_ARGUMENT'],
])('schedules refuse %s', (_, make, code) => {
  expect(make).toThrow(coded(code))
})
