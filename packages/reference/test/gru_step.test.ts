import { describe, expect, it } from 'vitest'
import { gruStep } from '../src/gru_step.js'
import { besideOneUnit, differencesOf, gradientsOf, randomSteps, stepped } from './step_gradients.js'

const [OPEN, CLOSED] = [100, -100]

describe('gruStep.forward', () => {
  // Gates in cuDNN's order: reset, update, new.
  it('keeps h where the update gate is open', () => {
    expect(stepped(gruStep, { x: [0, OPEN, 5], r: [0, 0, 5], h: 0.3 }).h).toBeCloseTo(0.3, 12)
  })

  it('takes the candidate where the update gate is closed', () => {
    expect(stepped(gruStep, { x: [OPEN, CLOSED, 0.2], r: [0, 0, 0.5], h: 0.3 }).h).toBeCloseTo(Math.tanh(0.7), 12)
  })

  it('resets the recurrent side of the candidate after its product, not h before it', () => {
    expect(stepped(gruStep, { x: [CLOSED, CLOSED, 0.2], r: [0, 0, 0.5], h: 0.3 }).h).toBeCloseTo(Math.tanh(0.2), 12)
    // Half a reset halves R·h + b_R, the bias included.
    expect(stepped(gruStep, { x: [0, CLOSED, 0], r: [0, 0, 0.5], h: 0.3 }).h).toBeCloseTo(Math.tanh(0.25), 12)
  })
})

describe('gruStep.backward', () => {
  it.each(randomSteps(3, 12))('agrees with differences, case %#', ({ step, dh }) => {
    const [own, numeric] = [gradientsOf(gruStep, step, dh, 0), differencesOf(gruStep, step, dh, 0)]
    for (const gate of [0, 1, 2]) {
      expect(own.x[gate]).toBeCloseTo(numeric.x[gate], 7)
      expect(own.r[gate]).toBeCloseTo(numeric.r[gate], 7)
    }
    expect(own.h).toBeCloseTo(numeric.h, 7)
  })

  it('has another gradient on each side of the candidate', () => {
    const { x, r } = gradientsOf(gruStep, { x: [0, 0, 1], r: [0, 0, 1], h: 0 }, 1, 0)
    expect(r[2]).toBeCloseTo(x[2] / 2, 14)
    expect(gruStep.sidesShareGradient).toBe(false)
  })

  it('computes the units of a row beside each other as each alone', () => {
    for (const { together, alone } of besideOneUnit(gruStep, 3)) expect(together).toEqual(alone)
  })
})
