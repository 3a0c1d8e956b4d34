import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { checkHyperparameter } from '../../../src/executor/index.js'

describe('checkHyperparameter', () => {
  it('takes finite numbers within the bounds and refuses others, saying the bounds', () => {
    const check = (value: number, bounds?: object) => () => checkHyperparameter('apply Adam', 'beta1', value, bounds)
    expect(check(-3)).not.toThrow()
    expect(check(0, { minimum: 0, below: 1 })).not.toThrow()
    for (const value of [1, -0.1, Number.NaN, Number.POSITIVE_INFINITY]) {
      const refused = coded('ERR_HYPERPARAMETER', { option: 'beta1', value })
      expect(check(value, { minimum: 0, below: 1 })).toThrow(refused)
    }
    expect(check(Number.NaN)).toThrow('beta1 must be a finite number: current value is NaN')
    expect(check(2, { below: 1 })).toThrow('beta1 must be a finite number < 1: current value is 2')
  })
})
