import { expectAllclose } from '@cudnn-rnn/conformance'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/coded.mjs'
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
