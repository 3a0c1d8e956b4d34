import {
  type Backend,
  type BackendTensor,
  DTYPES,
  OPTIMIZER_RULES,
  type OptimizerOptions,
  type OptimizerRule,
  type OptimizerSlots,
} from '@cudnn-rnn/ops'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import pytorch from '../../../fixtures/train/pytorch.json'
import tensorflow from '../../../fixtures/train/tensorflow.json'
import { coded } from '../../../scripts/testing/coded.mjs'
import { expectAllclose } from './closeness.js'
import type { ExecutorUnderTest } from './executor_under_test.js'

/** Ten of the fixture's hundred steps: float32 drifts beyond its tolerance later. */
const STEPS = 10

// The hyperparameters of fixtures/train/fills.py.
const [MOMENTUM, EPSILON, ACCUMULATOR] = [0.875, 2 ** -10, 0.125]

const RULES = Object.keys(OPTIMIZER_RULES) as OptimizerRule[]

type Update = (
  ops: Backend['ops'],
  tensors: readonly [variable: BackendTensor, first: BackendTensor, second: BackendTensor],
  gradient: Tensor,
  learningRate: number,
) => void

const CASES: readonly (readonly [string, Readonly<Record<string, readonly number[]>>, Update])[] = [
  [
    'momentum with the rate in the velocity agrees with Keras',
    tensorflow.optimizers.nesterov,
    (ops, [x, v], g, learningRate) =>
      ops.update('momentum', x, [v], g, { learningRate, momentum: MOMENTUM, nesterov: true, rateInVelocity: true }),
  ],
  [
    'rmsProp agrees with PyTorch',
    pytorch.optimizers.rmspropMomentum,
    (ops, [x, s, v], g, learningRate) =>
      ops.update('rmsProp', x, [s, v], g, { learningRate, decay: MOMENTUM, momentum: MOMENTUM, epsilon: EPSILON }),
  ],
  [
    'rmsProp with ε in the root and the rate in the velocity agrees with Keras',
    tensorflow.optimizers.rmspropMomentum,
    (ops, [x, s, v], g, learningRate) => {
      const keras = { epsilonInRoot: true, rateInVelocity: true }
      ops.update('rmsProp', x, [s, v], g, {
        learningRate,
        decay: MOMENTUM,
        momentum: MOMENTUM,
        epsilon: EPSILON,
        ...keras,
      })
    },
  ],
  [
    'adagrad agrees with PyTorch',
    pytorch.optimizers.adagrad,
    (ops, [x, , s], g, learningRate) => ops.update('adagrad', x, [s], g, { learningRate, epsilon: EPSILON }),
  ],
  [
    'adagrad with ε in the root agrees with Keras',
    tensorflow.optimizers.adagrad,
    (ops, [x, , s], g, learningRate) =>
      ops.update('adagrad', x, [s], g, { learningRate, epsilon: EPSILON, epsilonInRoot: true }),
  ],
]

/** The optimizers' updates in both libraries' definitions, weight decay and clipping by value. */
export function registerOptimizerConformance({ open, dtype, tolerance }: ExecutorUnderTest): void {
  const host = (values: readonly number[]): Tensor<FloatArray> => ({
    data: DTYPES[dtype].array.from(values),
    shape: [values.length],
  })
  const filled = (scale: number, frequency: number, phase: number) =>
    Array.from({ length: 6 }, (_, k) => scale * Math.sin(frequency * (k + 1) + phase))

  describe('optimizer updates', () => {
    test.each(CASES)('%s', async (_, expected, update) => {
      using backend = await open()
      const variable = backend.tensor(host(filled(0.6, 0.77, 0.4)))
      // Adagrad's sums start at the accumulator; the second tensor of the others starts at zero.
      const isAdagrad = expected === pytorch.optimizers.adagrad || expected === tensorflow.optimizers.adagrad
      const second = backend.tensor(host(new Array<number>(6).fill(isAdagrad ? ACCUMULATOR : 0)))
      const first = backend.zeros([6])
      for (let step = 1; step <= STEPS; step++) {
        const x = (await variable.read()).data
        const gradient = filled(0.7, 0.43, 0.15 + 0.1 * step).map((g, k) => g + 0.1 * x[k])
        update(backend.ops, [variable, first, second], host(gradient), 0.02 * (1.5 + Math.cos(0.1 * step)))
      }
      expectAllclose('variable', (await variable.read()).data, expected[String(STEPS)], tolerance)
    })

    test('weightDecay shrinks the masked elements, or all of them', async () => {
      using backend = await open()
      const variable = backend.tensor(host([1, -2, 4]))
      backend.ops.update('weightDecay', variable, [], host([1, 0, 1]), { rate: 0.25 })
      expect([...(await variable.read()).data]).toEqual([0.75, -2, 3])
      backend.ops.update('weightDecay', variable, [], null, { rate: 0.5 })
      expect([...(await variable.read()).data]).toEqual([0.375, -1, 1.5])
    })

    test.each(RULES)('%s leaves everything as it was where the table does not allow an argument', async (rule) => {
      using backend = await open()
      const { slots, source, options } = OPTIMIZER_RULES[rule]
      const variable = backend.tensor(host([1, -2]))
      const made = slots.map(() => backend.tensor(host([0.5, 0.25])))
      const update = (given: object, tensors: readonly BackendTensor[] = made, read: unknown = host([1, 1])) =>
        backend.ops.update(rule, variable, tensors as OptimizerSlots, read as Tensor, given as OptimizerOptions)
      const fitting = Object.fromEntries(
        Object.entries(options).flatMap(([name, option]) => ('default' in option ? [] : [[name, 1]])),
      )
      for (const [name, option] of Object.entries(options)) {
        if (!('minimum' in option)) {
          expect(() => update({ ...fitting, [name]: 1 })).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
          continue
        }
        const least = coded('ERR_HYPERPARAMETER', { option: name })
        expect(() => update({ ...fitting, [name]: option.minimum - 1 })).toThrow(least)
        if ('below' in option) expect(() => update({ ...fitting, [name]: option.below })).toThrow(least)
        if (name in fitting) expect(() => update({ ...fitting, [name]: undefined })).toThrow(least)
      }
      expect(() => update({ ...fitting, unknown: 1 })).toThrow(coded('ERR_UNKNOWN_OPTION'))
      expect(() => update(fitting, [...made, variable])).toThrow(coded('ERR_INVALID_OPTION'))
      expect(() => update(fitting, made, host([1]))).toThrow(coded('ERR_SHAPE'))
      if (!('isNullable' in source)) expect(() => update(fitting, made, null)).toThrow(coded('ERR_NOT_A_TENSOR'))
      expect([...(await variable.read()).data]).toEqual([1, -2])
      for (const slot of made) expect([...(await slot.read()).data]).toEqual([0.5, 0.25])
      update(fitting)
      expect([...(await variable.read()).data]).not.toEqual([1, -2])
    })

    test('clipByValue clamps to both sides and keeps NaN', async () => {
      using backend = await open()
      const tensors = [backend.tensor(host([-3, 0.5, Number.NaN])), backend.tensor(host([Number.POSITIVE_INFINITY]))]
      backend.ops.clipByValue(tensors, 1)
      expect([...(await tensors[0].read()).data]).toEqual([-1, 0.5, Number.NaN])
      expect([...(await tensors[1].read()).data]).toEqual([1])
    })

    test('updates refuse hyperparameters and shapes that make no sense', async () => {
      using backend = await open()
      const [x, s, v] = [backend.zeros([2]), backend.zeros([2]), backend.zeros([2])]
      const options = { learningRate: 1, epsilon: 1 }
      expect(() => backend.ops.update('rmsProp', x, [s, v], host([1]), options)).toThrow(coded('ERR_SHAPE'))
      expect(() => backend.ops.update('rmsProp', x, [s, v], host([1, 1]), { ...options, decay: 1 })).toThrow(
        coded('ERR_HYPERPARAMETER'),
      )
      expect(() => backend.ops.update('adagrad', x, [s], host([1, 1]), { ...options, epsilon: -1 })).toThrow(
        coded('ERR_HYPERPARAMETER'),
      )
      expect(() => backend.ops.update('weightDecay', x, [], host([1]), { rate: 1 })).toThrow(coded('ERR_SHAPE'))
      expect(() => backend.ops.clipByValue([x], -1)).toThrow(coded('ERR_HYPERPARAMETER'))
    })
  })
}
