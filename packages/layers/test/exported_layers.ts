import type { Tensor } from '@cudnn-rnn/canonical'
import { expect } from 'vitest'
import { attention, conv2d, cudnnGRU, cudnnLSTM, dense, lastStep, reverse, timeDistributed } from '../src/index.js'
import { groupNorm } from '../src/kinds/group_norm.js'
import { stepFunction } from '../src/kinds/step_function.js'
import { averagePool2d, spreadRows, spreadSteps } from '../src/kinds/step_windows.js'
import { waves } from './small_data.js'

export const FUNCTIONS = [
  'elu',
  'selu',
  'silu',
  'gelu',
  'mish',
  'softsign',
  'hard_sigmoid',
  'hard_silu',
  'line',
  'exponential',
  'unit',
  'rms',
  'hard_tanh',
  'log_sigmoid',
  'log_softmax',
  'squareplus',
  'sparse_plus',
  'tanh_shrink',
  'soft_shrink',
  'hard_shrink',
] as const

export const PICTURES = () => [
  dense({ units: 8 }),
  spreadRows({ height: 4, croppedBefore: 1, repeats: 2, zerosBefore: 1 }),
  averagePool2d({ height: 7, poolSize: [2, 3], strides: [1, 2], padding: 'same' }),
  spreadRows({ height: 4, repeats: 2, isSpaced: true, croppedAfter: 1 }),
  conv2d({ height: 6, filters: 3, kernelSize: [2, 2], activation: 'softmax' }),
  groupNorm({ groups: 3, channels: 3, epsilon: 0.01 }),
  timeDistributed(dense({ units: 2, activation: 'softmax' }), { height: 5 }),
  timeDistributed(stepFunction({ function: 'log_softmax' }), { height: 5 }),
  spreadSteps({ repeats: 3, isSpaced: true, croppedBefore: 1, zerosAfter: 1 }),
]

export const SEQUENCES = () => [
  dense({ units: 8 }),
  timeDistributed([cudnnGRU({ numUnits: 2, direction: 'bidirectional' })], { steps: 4 }),
  timeDistributed([reverse(), cudnnLSTM({ numUnits: 3 }), lastStep()], { steps: 8, name: 'time_distributed' }),
  attention({ score: 'concat' }),
]
export const [BATCH, TIME, FEATURES] = [2, 5, 3]

/** The script's inputs, time-major: batch-major there. */
export const INPUTS: Readonly<Record<string, Tensor>> = {
  text: {
    data: Int32Array.from({ length: TIME * BATCH }, (_, k) => (((k % BATCH) * TIME + Math.floor(k / BATCH)) * 3) % 7),
    shape: [TIME, BATCH],
  },
  numbers: {
    data: Float32Array.from({ length: TIME * BATCH * FEATURES }, (_, k) => {
      const [t, b, i] = [Math.floor(k / (BATCH * FEATURES)), Math.floor(k / FEATURES) % BATCH, k % FEATURES]
      return waves([BATCH, TIME, FEATURES]).data[(b * TIME + t) * FEATURES + i]
    }),
    shape: [TIME, BATCH, FEATURES],
  },
}

export function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance = 1e-5): void {
  expect(actual.length).toBe(expected.length)
  const worst = Array.from(expected).reduce((most, value, k) => Math.max(most, Math.abs(value - actual[k])), 0)
  expect(worst).toBeLessThan(tolerance)
}
