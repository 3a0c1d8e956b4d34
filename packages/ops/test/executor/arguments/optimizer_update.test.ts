import { describeValue } from '@cudnn-rnn/canonical'
import { OPTIMIZER_RULES } from '@cudnn-rnn/ops'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import {
  checkRuleArguments,
  completeUpdate,
  type RuleValues,
} from '../../../src/executor/arguments/optimizer_update.js'

const complete = (rule: Rule, options: object, isCounted = false) =>
  completeUpdate(checkRuleArguments(rule, OPTIMIZER_RULES[rule].slots), options as never, isCounted)
const LEAST = {
  momentum: { learningRate: 0.1, momentum: 0.9 },
  adam: { learningRate: 0.1, step: 1 },
  rmsProp: { learningRate: 0.1, epsilon: 1e-10 },
  adagrad: { learningRate: 0.1, epsilon: 1e-10 },
}
type Rule = keyof typeof LEAST

describe('defaults', () => {
  it.each<[Rule, object]>([
    ['momentum', { nesterov: false, rateInVelocity: false }],
    ['adam', { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, epsilonHat: false }],
    ['rmsProp', { decay: 0.9, momentum: 0, rateInVelocity: false, epsilonInRoot: false }],
    ['adagrad', { epsilonInRoot: false }],
  ])('of %s', (rule, defaults) => {
    expect(complete(rule, LEAST[rule])).toEqual({ rule, ...LEAST[rule], ...defaults })
  })

  it.each<[Rule, object]>([
    ['momentum', { nesterov: true, rateInVelocity: true, momentum: 0, learningRate: 0 }],
    ['adam', { beta1: 0, beta2: 0.5, epsilon: 0 }],
    ['rmsProp', { decay: 0, momentum: 0.5, rateInVelocity: true, epsilonInRoot: true }],
    ['adagrad', { epsilonInRoot: true }],
  ])('of %s give way to %o', (rule, options) => {
    expect(complete(rule, { ...LEAST[rule], ...options })).toMatchObject(options)
  })
})

describe('bounds', () => {
  it.each<[Rule, string, unknown, string]>([
    ['momentum', 'learningRate', -0.1, '>= 0'],
    ['momentum', 'learningRate', undefined, '>= 0'],
    ['momentum', 'momentum', Number.NaN, '>= 0'],
    ['adam', 'learningRate', Number.POSITIVE_INFINITY, '>= 0'],
    ['adam', 'beta1', 1, '>= 0 < 1'],
    ['adam', 'beta2', -1e-9, '>= 0 < 1'],
    ['adam', 'epsilon', -1, '>= 0'],
    ['adam', 'step', 0, '>= 1'],
    ['adam', 'step', '1', '>= 1'],
    ['rmsProp', 'decay', 1, '>= 0 < 1'],
    ['rmsProp', 'momentum', -1, '>= 0'],
    ['rmsProp', 'epsilon', undefined, '>= 0'],
    ['adagrad', 'learningRate', -1, '>= 0'],
    ['adagrad', 'epsilon', null, '>= 0'],
  ])('%s refuses %s = %s', (rule, option, value, bounds) => {
    const refuse = () => complete(rule, { ...LEAST[rule], [option]: value })
    const current = describeValue(value)
    const message = expect.stringContaining(
      `as ${option} must be a finite number ${bounds}: current value is ${current}`,
    )
    expect(refuse).toThrow(coded('ERR_HYPERPARAMETER', { name: 'RangeError', message, option, value }))
  })

  it.each(['momentum', 'rmsProp', 'adagrad'] as const)('%s refuses options that are not an object', (rule) => {
    for (const options of [undefined, null, 0.1])
      expect(() => complete(rule, options as never)).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
  })

  it.each(['nesterov', 'rateInVelocity'])('momentum refuses %s = 1', (option) => {
    const refuse = () => complete('momentum', { ...LEAST.momentum, [option]: 1 })
    expect(refuse).toThrow(coded('ERR_INVALID_OPTION_TYPE', { option, value: 1 }))
  })

  it('adam refuses options of another name', () => {
    const refuse = () => complete('adam', { ...LEAST.adam, beta: 0.5 })
    expect(refuse).toThrow(coded('ERR_UNKNOWN_OPTION', { suggestion: 'beta1' }))
  })
})

describe("completeUpdate's ε̂", () => {
  // Kingma & Ba, section 2: with ε̂ the update is α·√(1−β₂ᵗ)/(1−β₁ᵗ)·m/(√v + ε̂), which is α·m̂/(√v̂ + ε̂/√(1−β₂ᵗ)).
  it.each([1, 2, 10, 10_000])('is the same update as ε after the correction, at step %i', (step) => {
    const [m, v, beta1, beta2, epsilonHat, learningRate] = [0.3, 0.02, 0.9, 0.999, 1e-3, 0.01]
    const paper =
      (learningRate * (Math.sqrt(1 - beta2 ** step) / (1 - beta1 ** step)) * m) / (Math.sqrt(v) + epsilonHat)
    const update = complete('adam', { learningRate, beta1, beta2, epsilon: epsilonHat, epsilonHat: true, step })
    const { epsilon } = update as RuleValues<'adam'>
    const corrected = [m / (1 - beta1 ** step), v / (1 - beta2 ** step)] as const
    expect((learningRate * corrected[0]) / (Math.sqrt(corrected[1]) + epsilon)).toBeCloseTo(paper, 14)
  })

  it('is left to the device where the device counts the steps', () => {
    const options = { learningRate: 0.1, epsilon: 1e-7, epsilonHat: true }
    expect(complete('adam', { ...options, step: {} }, true)).toMatchObject({ ...options, step: Number.NaN })
    // A step of its caller is checked, also after an update whose steps a tensor counts.
    expect(() => complete('adam', { ...options, step: Number.NaN })).toThrow(coded('ERR_HYPERPARAMETER'))
  })

  it('is made once for options of equal values', () => {
    const options = { learningRate: 0.1, epsilon: 1e-7, step: 3 }
    const update = complete('adam', { ...options })
    expect(complete('adam', { ...options })).toBe(update)
    expect(complete('adam', { ...options, step: 4 })).toEqual({ ...update, step: 4 })
    expect(complete('adam', { ...options, epsilon: -0 })).toEqual({ ...update, epsilon: -0 })
  })
})

describe('checkRuleArguments', () => {
  it.each([
    ['the name of no rule', 'adamax', [], 'ERR_INVALID_OPTION'],
    ['a name of Object', 'toString', [], 'ERR_INVALID_OPTION'],
    ['a rule that is not a name', 1, [], 'ERR_INVALID_ARGUMENT'],
    ['a slot too few', 'adam', [{}], 'ERR_INVALID_OPTION'],
    ['slots that are not an array', 'adam', undefined, 'ERR_INVALID_ARGUMENT'],
  ])('refuses %s', (_, rule, slots, code) => {
    expect(() => checkRuleArguments(rule, slots)).toThrow(coded(code))
  })

  it('names operands as the table does', () => {
    expect(checkRuleArguments('adam', [{}, {}])).toMatchObject({
      action: 'apply Adam',
      operandNames: ['variable', 'firstMoment', 'secondMoment', 'gradient'],
      isSourceNullable: false,
    })
  })
})
