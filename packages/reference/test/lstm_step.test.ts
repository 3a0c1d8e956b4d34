import { describe, expect, it } from 'vitest'
import { lstmStep } from '../src/lstm_step.js'
import { besideOneUnit, differencesOf, gradientsOf, randomSteps, stepped } from './step_gradients.js'

const [OPEN, CLOSED] = [100, -100]
const NOTHING = [0, 0, 0, 0]

describe('lstmStep.forward', () => {
  it('is half open without input', () => {
    const { h, c } = stepped(lstmStep, { x: NOTHING, r: NOTHING, c: 2 })
    expect([c, h]).toEqual([1, 0.5 * Math.tanh(1)])
  })

  // Gates in cuDNN's order: input, forget, new memory, output.
  it.each([
    ['keeps the cell state where the forget gate alone is open', [CLOSED, OPEN, OPEN, OPEN], -0.7],
    ['takes the new memory where the input gate alone is open', [OPEN, CLOSED, OPEN, OPEN], 1],
    ['adds both where both are open', [OPEN, OPEN, OPEN, OPEN], 0.3],
    ['clears the state where both are closed', [CLOSED, CLOSED, OPEN, OPEN], 0],
  ])('%s', (_, x, expected) => {
    const { h, c } = stepped(lstmStep, { x, r: NOTHING, c: -0.7 })
    expect(c).toBeCloseTo(expected, 12)
    expect(h).toBeCloseTo(Math.tanh(expected), 12)
  })

  it('hides its state behind the output gate', () => {
    expect(stepped(lstmStep, { x: [OPEN, OPEN, OPEN, CLOSED], r: NOTHING, c: 1 }).h).toBeCloseTo(0, 12)
  })

  it('adds both sides of the pre-activation', () => {
    const [x, r] = [
      [1, -2, 0.5, 3],
      [0.25, 1, -1, -2],
    ]
    const sums = x.map((value, gate) => value + r[gate])
    expect(stepped(lstmStep, { x, r, c: 0.4 })).toEqual(stepped(lstmStep, { x: sums, r: NOTHING, c: 0.4 }))
  })

  it('clips the cell state before the output', () => {
    for (const sign of [-1, 1]) {
      const step = { x: [CLOSED, OPEN, 0, OPEN], r: NOTHING, c: 3 * sign, cellClip: 0.5 }
      expect(stepped(lstmStep, step)).toMatchObject({ c: 0.5 * sign, h: Math.tanh(0.5 * sign) })
    }
  })
})

describe('lstmStep.backward', () => {
  it.each(randomSteps(4, 12))('agrees with differences, case %#', ({ step, dh, dc }) => {
    const [own, numeric] = [gradientsOf(lstmStep, step, dh, dc), differencesOf(lstmStep, step, dh, dc)]
    for (const gate of [0, 1, 2, 3]) expect(own.x[gate]).toBeCloseTo(numeric.x[gate], 7)
    expect(own.r).toEqual(own.x)
    expect(own.c).toBeCloseTo(numeric.c, 7)
    // The rest of ∂h_prev passes through R.
    expect(own.h).toBe(0)
  })

  it('passes nothing through a state that the clip holds, but the gradient of the output gate', () => {
    const step = { x: [1, 1, 1, 1], r: NOTHING, c: 3, cellClip: 0.5 }
    const { x, c } = gradientsOf(lstmStep, step, 1, 1)
    expect([x[0], x[1], x[2], c].map(Math.abs)).toEqual([0, 0, 0, 0])
    const o = 1 / (1 + Math.exp(-1))
    expect(x[3]).toBeCloseTo(Math.tanh(0.5) * o * (1 - o), 14)
  })

  it('computes the units of a row beside each other as each alone', () => {
    for (const { together, alone } of besideOneUnit(lstmStep, 4)) expect(together).toEqual(alone)
  })
})
