import type { OptimizerUpdate } from '@cudnn-rnn/ops/executor'
import { describe, expect, it } from 'vitest'
import { applyUpdate } from '../src/optimizer_updates.js'

const GRADIENTS = [
  [0.5, -0.25, 0],
  [-0.125, 0.75, 0],
  [0.3, 0.1, -2],
]
const START = [1, -2, 0.5]
const rate = { learningRate: 0.1 }
const adam = { rule: 'adam', ...rate, beta1: 0.9, beta2: 0.99, epsilon: 1e-3, epsilonHat: false } as const
const rmsProp = {
  rule: 'rmsProp',
  ...{ ...rate, decay: 0.8, momentum: 0, epsilon: 1e-3, rateInVelocity: false, epsilonInRoot: false },
} as const
const momentum = { rule: 'momentum', ...rate, momentum: 0.9, nesterov: false, rateInVelocity: false } as const
const adagrad = { rule: 'adagrad', ...rate, epsilon: 1e-3, epsilonInRoot: false } as const

/** A variable after the three gradients. */
function trained(updates: (step: number) => readonly OptimizerUpdate[], slots: number[] = []) {
  const variable = Float64Array.from(START)
  const state = slots.map((initial) => new Float64Array(3).fill(initial))
  for (const [index, gradient] of GRADIENTS.entries())
    for (const update of updates(index + 1)) {
      const isDecay = update.rule === 'weightDecay'
      applyUpdate(
        update,
        isDecay ? [variable] : [variable, ...state],
        isDecay ? undefined : Float64Array.from(gradient),
      )
    }
  return { variable: [...variable], state: state.map((slot) => [...slot]) }
}
const close = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 13))

describe('three updates', () => {
  // torch 2.13.0, torch.optim in float64: SGD, Adam, AdamW, RMSprop and Adagrad with the numbers above.
  it.each<[string, (step: number) => OptimizerUpdate[], number[], number[]]>([
    ['SGD', () => [{ rule: 'addScaled', scale: -0.1 }], [], [0.9325, -2.06, 0.7]],
    ['SGD with momentum 0.9', () => [momentum], [0], [0.85825, -2.08475, 0.7]],
    ['SGD with nesterov', () => [{ ...momentum, nesterov: true }], [0], [0.804925, -2.136275, 0.88]],
    ['Adam', (step) => [{ ...adam, step }], [0, 0], [0.7898274627686559, -1.995478050256542, 0.5635392632924012]],
    [
      'AdamW with weight_decay 0.05',
      (step) => [
        { rule: 'weightDecay', rate: 0.1 * 0.05 },
        { ...adam, step },
      ],
      [0, 0],
      [0.7761324059876975, -1.9663751166276715, 0.5560767007924012],
    ],
    ['RMSprop', () => [rmsProp], [0, 0], [0.7069314219325274, -2.0235737777956198, 0.7233570769463252]],
    [
      'RMSprop with momentum 0.5',
      () => [{ ...rmsProp, momentum: 0.5 }],
      [0, 0],
      [0.5699252147309741, -1.9641929888490797, 0.7233570769463252],
    ],
    ['Adagrad from 0.1', () => [adagrad], [0.1], [0.8918868165573623, -2.03776645144041, 0.5987242032562281]],
  ])("are those of PyTorch's %s", (_, updates, slots, expected) => {
    expect(trained(updates, slots).variable).toEqual(close(expected))
  })
})

describe('variants', () => {
  it.each([
    ['momentum', momentum, { ...momentum, rateInVelocity: true }],
    ['rmsProp', { ...rmsProp, momentum: 0.5 }, { ...rmsProp, momentum: 0.5, rateInVelocity: true }],
  ] as const)(
    '%s with the rate in the velocity is the same at a constant rate, with a velocity scaled by it',
    (_, plain, scaled) => {
      const slots = plain.rule === 'momentum' ? [0] : [0, 0]
      const [own, keras] = [trained(() => [plain], slots), trained(() => [scaled], slots)]
      expect(keras.variable).toEqual(close(own.variable))
      expect(keras.state.at(-1)).toEqual(close((own.state.at(-1) ?? []).map((velocity) => 0.1 * velocity)))
    },
  )

  it.each(['rmsProp', 'adagrad'] as const)('%s adds ε to the root, or to the square below it', (rule) => {
    const firstStep = (epsilonInRoot: boolean) => {
      const variable = Float64Array.of(0)
      const slots = rule === 'adagrad' ? [Float64Array.of(0)] : [Float64Array.of(0), Float64Array.of(0)]
      const update = { ...(rule === 'adagrad' ? adagrad : { ...rmsProp, decay: 0 }), epsilon: 9, epsilonInRoot }
      applyUpdate(update, [variable, ...slots], Float64Array.of(4))
      return variable[0]
    }
    expect(firstStep(false)).toBeCloseTo((-0.1 * 4) / (4 + 9), 14)
    expect(firstStep(true)).toBeCloseTo((-0.1 * 4) / 5, 14)
  })

  it('weight decay leaves elements unchanged where its mask is 0', () => {
    const variable = Float64Array.from(START)
    applyUpdate({ rule: 'weightDecay', rate: 0.5 }, [variable], Float64Array.of(1, 0, 1))
    expect([...variable]).toEqual([0.5, -2, 0.25])
  })

  it('a gradient of 0 moves only variables with a velocity', () => {
    const still = (update: OptimizerUpdate, slots: number) => {
      const variable = Float64Array.of(1)
      applyUpdate(update, [variable, ...Array.from({ length: slots }, () => Float64Array.of(0))], Float64Array.of(0))
      return variable[0]
    }
    expect(still(momentum, 1)).toBe(1)
    expect(still({ ...adam, step: 1 }, 2)).toBe(1)
    expect(still(rmsProp, 2)).toBe(1)
    expect(still(adagrad, 1)).toBe(1)
  })
})
