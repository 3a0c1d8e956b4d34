import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/coded.mjs'
import { checkPhasedGate, completePhasedGate } from '../src/phased_gate_arguments.js'
import { ids, zeros } from './stub_tensor.js'

const operands = { times: zeros(3, 1), period: zeros(4), phase: zeros(4), ratioOn: zeros(4) }
const check = (changes: object = {}) => checkPhasedGate('open gates', 'float32', { ...operands, ...changes })

describe('checkPhasedGate', () => {
  it('returns rows and units, of none too', () => {
    expect(check()).toEqual({ batch: 3, units: 4 })
    expect(check({ times: zeros(0, 1) })).toEqual({ batch: 0, units: 4 })
  })

  it.each([
    ['times', 'times', zeros(3), 'ERR_SHAPE'],
    ['times', 'times', zeros(3, 2), 'ERR_SHAPE'],
    ['times', 'times', ids(3, 1), 'ERR_DTYPE'],
    ['period', 'variables.period', zeros(1, 4), 'ERR_SHAPE'],
    ['phase', 'variables.phase', zeros(3), 'ERR_SHAPE'],
    ['ratioOn', 'variables.ratioOn', zeros(5), 'ERR_SHAPE'],
    ['ratioOn', 'variables.ratioOn', undefined, 'ERR_NOT_A_TENSOR'],
  ])('refuses %s, named %s: %#', (name, argument, tensor, code) => {
    expect(() => check({ [name]: tensor })).toThrow(coded(code, { argument }))
  })
})

describe('completePhasedGate', () => {
  it('returns the leak, of any sign', () => {
    expect([0, 0.001, -1].map((leak) => completePhasedGate('open gates', { leak }))).toEqual([0, 0.001, -1])
  })

  it.each([
    [{ leak: Number.NaN }, 'ERR_HYPERPARAMETER'],
    [{ leak: Number.POSITIVE_INFINITY }, 'ERR_HYPERPARAMETER'],
    [{ leak: '0' }, 'ERR_HYPERPARAMETER'],
    [{}, 'ERR_HYPERPARAMETER'],
    [{ leak: 0, alpha: 1 }, 'ERR_UNKNOWN_OPTION'],
    [undefined, 'ERR_INVALID_OPTION_TYPE'],
  ])('refuses %o with %s', (options, code) => {
    expect(() => completePhasedGate('open gates', options as never)).toThrow(coded(code))
  })
})
