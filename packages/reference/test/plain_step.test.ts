import { describe, expect, it } from 'vitest'
import { reluStep, tanhStep } from '../src/plain_step.js'
import { besideOneUnit, differencesOf, gradientsOf, randomSteps, stepped } from './step_gradients.js'

describe.each([
  ['tanhStep', tanhStep, Math.tanh(-0.75), Math.tanh(1.25)],
  ['reluStep', reluStep, 0, 1.25],
] as const)('%s', (_, cell, ofNegative, ofPositive) => {
  it('activates the sum of both sides, and does not read h itself', () => {
    expect(stepped(cell, { x: [-1], r: [0.25], h: 9 }).h).toBe(ofNegative)
    expect(stepped(cell, { x: [1], r: [0.25], h: 9 }).h).toBe(ofPositive)
  })

  it.each(randomSteps(1, 8))('agrees with differences, case %#', ({ step, dh }) => {
    const [own, numeric] = [gradientsOf(cell, step, dh, 0), differencesOf(cell, step, dh, 0)]
    expect(own.x[0]).toBeCloseTo(numeric.x[0], 7)
    expect(own.r).toEqual(own.x)
    expect(own.h).toBe(0)
  })

  it('computes the units of a row beside each other as each alone', () => {
    for (const { together, alone } of besideOneUnit(cell, 1)) expect(together).toEqual(alone)
  })
})

describe('reluStep', () => {
  it('lets no gradient through a closed unit, not even NaN or infinity', () => {
    for (const dh of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(gradientsOf(reluStep, { x: [-1], r: [0] }, dh, 0).x).toEqual([0])
      expect(gradientsOf(reluStep, { x: [1], r: [0] }, dh, 0).x).toEqual([dh])
    }
  })
})
