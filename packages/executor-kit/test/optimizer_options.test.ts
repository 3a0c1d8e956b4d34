import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/coded.mjs'
import { completeAdagrad, completeAdam, completeMomentum, completeRmsProp } from '../src/optimizer_options.js'

const COMPLETE = {
  momentum: (options: object) => completeMomentum('apply momentum', options as never),
  adam: (options: object) => completeAdam('apply Adam', options as never, false),
  rmsProp: (options: object) => completeRmsProp('apply RMSProp', options as never),
  adagrad: (options: object) => completeAdagrad('apply Adagrad', options as never),
}
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
    expect(COMPLETE[rule](LEAST[rule])).toEqual({ ...LEAST[rule], ...defaults })
  })

  it.each<[Rule, object]>([
    ['momentum', { nesterov: true, rateInVelocity: true, momentum: 0, learningRate: 0 }],
    ['adam', { beta1: 0, beta2: 0.5, epsilon: 0 }],
    ['rmsProp', { decay: 0, momentum: 0.5, rateInVelocity: true, epsilonInRoot: true }],
    ['adagrad', { epsilonInRoot: true }],
  ])('of %s give way to %o', (rule, options) => {
    expect(COMPLETE[rule]({ ...LEAST[rule], ...options })).toMatchObject(options)
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
    const refuse = () => COMPLETE[rule]({ ...LEAST[rule], [option]: value })
    const message = expect.stringContaining(`as ${option} must be a finite number ${bounds}: current value is ${value}`)
    expect(refuse).toThrow(coded('ERR_HYPERPARAMETER', { name: 'RangeError', message, option, value }))
  })

  it.each<Rule>(['momentum', 'rmsProp', 'adagrad'])('%s refuses options that are not an object', (rule) => {
    for (const options of [undefined, null, 0.1])
      expect(() => COMPLETE[rule](options as never)).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
  })
})

describe("completeAdam's ε̂", () => {
  // Kingma & Ba, section 2: with ε̂ the update is α·√(1−β₂ᵗ)/(1−β₁ᵗ)·m/(√v + ε̂), which is α·m̂/(√v̂ + ε̂/√(1−β₂ᵗ)).
  it.each([1, 2, 10, 10_000])('is the same update as ε after the correction, at step %i', (step) => {
    const [m, v, beta1, beta2, epsilonHat, learningRate] = [0.3, 0.02, 0.9, 0.999, 1e-3, 0.01]
    const paper =
      (learningRate * (Math.sqrt(1 - beta2 ** step) / (1 - beta1 ** step)) * m) / (Math.sqrt(v) + epsilonHat)
    const { epsilon } = completeAdam(
      '',
      { learningRate, beta1, beta2, epsilon: epsilonHat, epsilonHat: true, step },
      false,
    )
    const corrected = [m / (1 - beta1 ** step), v / (1 - beta2 ** step)] as const
    expect((learningRate * corrected[0]) / (Math.sqrt(corrected[1]) + epsilon)).toBeCloseTo(paper, 14)
  })

  it('is left to the device where the device counts the steps', () => {
    const options = { learningRate: 0.1, epsilon: 1e-7, epsilonHat: true, step: {} as never }
    expect(completeAdam('', options, true)).toMatchObject({ epsilon: 1e-7, epsilonHat: true, step: Number.NaN })
  })
})
