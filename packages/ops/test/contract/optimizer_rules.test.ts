import { describe, expect, expectTypeOf, it } from 'vitest'
import { OPTIMIZER_MEANINGS } from '../../src/contract/optimizer_meanings.js'
import type { OptimizerSource } from '../../src/contract/optimizer_rules.js'
import {
  type BackendTensor,
  OPTIMIZER_RULES,
  type OptimizerOptions,
  type OptimizerSlots,
  type TensorLike,
} from '../../src/index.js'

describe('OPTIMIZER_RULES', () => {
  it.each(Object.entries(OPTIMIZER_RULES))('%s has defaults that its own bounds allow', (_, { options }) => {
    for (const option of Object.values(options)) {
      if (!('minimum' in option) || !('default' in option)) continue
      expect(option.default).toBeGreaterThanOrEqual(option.minimum)
      if ('below' in option) expect(option.default).toBeLessThan(option.below)
    }
  })

  it.each(Object.entries(OPTIMIZER_MEANINGS))(
    '%s has equations that change the variable and every slot',
    (rule, { equations }) => {
      for (const name of ['variable', ...OPTIMIZER_RULES[rule as keyof typeof OPTIMIZER_RULES].slots]) {
        expect(equations.some((equation) => equation.startsWith(`${name} ←`))).toBe(true)
      }
    },
  )

  // 6 operands and 8 numbers: kMaxOperands and kMaxNumbers of native/cpu/src/dense/operations.h.
  it.each(Object.entries(OPTIMIZER_RULES))('%s fits into the arrays of the kernels', (_, { slots, options }) => {
    expect(slots.length + 2).toBeLessThanOrEqual(6)
    expect(Object.keys(options).length).toBeLessThanOrEqual(8)
  })

  it('yield the types of the arguments', () => {
    expectTypeOf<OptimizerSlots<'adam'>>().toEqualTypeOf<readonly [BackendTensor, BackendTensor]>()
    expectTypeOf<OptimizerSource<'sgd'>>().toEqualTypeOf<TensorLike>()
    expectTypeOf<OptimizerSource<'weightDecay'>>().toEqualTypeOf<TensorLike | null>()
    expectTypeOf<OptimizerOptions<'sgd'>['learningRate']>().toEqualTypeOf<number>()
    expectTypeOf<OptimizerOptions<'adam'>['step']>().toEqualTypeOf<number | BackendTensor>()
    expectTypeOf<OptimizerOptions<'adam'>['epsilonHat']>().toEqualTypeOf<boolean | undefined>()
    // @ts-expect-error the momentum has no default
    const missing: OptimizerOptions<'momentum'> = { learningRate: 1 }
    expect(missing).toBeDefined()
  })
})
