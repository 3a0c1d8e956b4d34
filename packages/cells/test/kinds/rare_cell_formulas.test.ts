import { describe, expect, test } from 'vitest'
import {
  Conv1DLSTMCell,
  Conv2DLSTMCell,
  GLSTMCell,
  LayerNormBasicLSTMCell,
  NASCell,
  PhasedLSTMCell,
  UGRNNCell,
} from '../../src/index.js'
import { expectClose, float64 } from '../cell_checks.js'
import { dtype, filled, rows } from './filled_cells.js'

/** The digits of the numbers below. */
const TOLERANCE = 2e-8

describe('numbers of the published formulas on weights that differ', () => {
  const x = filled([2, 2], 5, 9, 4, 4)
  const c3 = filled([2, 3], 3, 8, 3, 5)
  const h3 = filled([2, 3], 2, 5, 2, 5)

  test('NASCell: the blocks of the kernels, and the side of the bias', () => {
    const cell = new NASCell(3, { dtype, useBias: true })
    cell.setVariables({
      kernel: filled([2, 24], 7, 11, 5, 10),
      recurrent_kernel: filled([3, 24], 5, 13, 6, 10),
      bias: filled([24], 3, 7, 3, 10),
    })
    const { state } = cell.call(x, { c: c3, h: h3 })
    expectClose(state.c.data, [-0.23101379, 0, 0.3703178, -0.13699811, 0.2187425, 0.35925544], TOLERANCE, 'c')
    expectClose(state.h.data, [-0.09005543, 0, 0.11519713, -0.08602268, 0.14756361, 0.10266814], TOLERANCE, 'm')
  })

  test('UGRNNCell', () => {
    const cell = new UGRNNCell(2, { dtype })
    cell.setVariables({ kernel: filled([5, 4], 7, 11, 5, 10), bias: filled([4], 3, 7, 3, 10) })
    const { output } = cell.call(filled([2, 3], 5, 9, 4, 4), filled([2, 2], 2, 5, 2, 5))
    expectClose(output.data, [-0.23932581, -0.09295142, 0.27863639, -0.17981181], TOLERANCE, 'h')
  })

  test('PhasedLSTMCell at four times of the period', () => {
    const cell = new PhasedLSTMCell(2, { dtype })
    const bias = filled([2], 3, 7, 3, 10)
    cell.setVariables({
      'mask_gates/kernel': filled([5, 4], 7, 11, 5, 10),
      'mask_gates/bias': filled([4], 3, 7, 3, 10),
      'new_input/kernel': filled([5, 2], 5, 13, 6, 10),
      'new_input/bias': bias,
      'output_gate/kernel': filled([5, 2], 3, 7, 3, 10),
      'output_gate/bias': bias,
      period: float64([2, 5], [2]),
      phase: float64([0.25, 1], [2]),
      ratio_on: float64([0.1, 0.2], [2]),
    })
    const features = filled([4, 3], 5, 9, 4, 4)
    const times = [0.3, 1.05, 2.4, 7.9]
    const timed = float64(
      times.flatMap((time, b) => [time, ...features.data.slice(3 * b, 3 * b + 3)]),
      [4, 4],
    )
    const { state } = cell.call(timed, { c: filled([4, 2], 3, 8, 3, 5), h: filled([4, 2], 2, 5, 2, 5) })
    const c = [-0.36788886, -0.00017574, 0.59981006, -0.34328711, 0.27129992, 0.79985424, -0.19988279, 0.39984288]
    const h = [-0.2317996, -0.00009723, 0.39985986, -0.17287212, 0.1863625, -0.39985517, -0.00002297, 0.39984513]
    expectClose(state.c.data, c, TOLERANCE, 'c')
    expectClose(state.h.data, h, TOLERANCE, 'h')
  })

  test.each([
    [1, 4, 0.8491126756, 0.6082834182],
    [2, 4, 0.5567699411, 0.3696063529],
    [2, 6, 0.7400261094, 0.5143859225],
  ])('GLSTMCell, %i groups, %i inputs', (numberOfGroups, inputSize, c, h) => {
    const cell = new GLSTMCell(4, { dtype, numberOfGroups, initializer: 0.5 })
    const { state } = cell.call(rows([1], inputSize), cell.zeroState(1))
    expectClose(state.c.data, Array(4).fill(c), 1e-9, 'c')
    expectClose(state.h.data, Array(4).fill(h), 1e-9, 'm')
  })

  test('GLSTMCell with two groups and a projection', () => {
    const cell = new GLSTMCell(4, { dtype, numberOfGroups: 2, numProj: 2 })
    const bias = (shift: number) =>
      float64(
        filled([4], 3, 7, 3, 10).data.map((value) => value + shift),
        [4],
      )
    cell.setVariables({
      'group0/kernel': filled([4, 8], 7, 11, 5, 10),
      'group1/kernel': filled([4, 8], 5, 13, 6, 10),
      bias_i: bias(0),
      bias_j: bias(0.05),
      bias_f: bias(-0.05),
      bias_o: bias(0.1),
      'projection/kernel': filled([4, 2], 3, 7, 3, 5),
    })
    expect(cell.inputSize).toBe(6)
    const state = { c: filled([2, 4], 3, 8, 3, 5), h: filled([2, 2], 2, 5, 2, 5) }
    const next = cell.call(filled([2, 6], 5, 9, 4, 4), state).state
    const c = [-0.40081099, -0.05361134, 0.79330941, -0.4160879, 0.05868543, 0.1891305, -0.33088139, 0.45101015]
    expectClose(next.c.data, c, TOLERANCE, 'c')
    expectClose(next.h.data, [0.21194139, -0.01285313, -0.00596509, -0.02495434], TOLERANCE, 'm')
  })

  test('Conv1DLSTMCell with an odd and an even kernel', () => {
    const run = (width: number) => {
      const cell = new Conv1DLSTMCell({ dtype, inputShape: [4, 2], outputChannels: 2, kernelShape: [width] })
      cell.setVariables({ kernel: filled([width, 4, 8], 7, 17, 8, 20), biases: filled([8], 3, 7, 3, 10) })
      const state = { c: filled([1, 8], 3, 8, 3, 5), h: filled([1, 8], 2, 5, 2, 5) }
      return cell.call(filled([1, 8], 5, 9, 4, 4), state).state
    }
    const c = [-0.02924877, 0.06577495, 0.69402199, -0.2591822, 0.00067137, 0.93410172, -0.17878182, 0.49034911]
    const h = [-0.01240776, 0.03805016, 0.27556276, -0.11397393, 0.00033149, 0.2290571, -0.11582658, 0.15949061]
    expectClose(run(3).c.data, c, TOLERANCE, 'c')
    expectClose(run(3).h.data, h, TOLERANCE, 'h')
    const even = [-0.18335328, 0, 0.17220844, -0.03294535, 0.07758671, 0.2253835, -0.09358646, 0.08124531]
    expectClose(run(2).h.data, even, TOLERANCE, 'h')
  })

  test('Conv2DLSTMCell', () => {
    const cell = new Conv2DLSTMCell({ dtype, inputShape: [2, 3, 2], outputChannels: 2, kernelShape: [3, 2] })
    cell.setVariables({ kernel: filled([3, 2, 4, 8], 7, 17, 8, 40), biases: filled([8], 3, 7, 3, 10) })
    const state = { c: filled([1, 12], 3, 8, 3, 5), h: filled([1, 12], 2, 5, 2, 5) }
    const { c, h } = cell.call(filled([1, 12], 5, 9, 4, 4), state).state
    const sum = (data: ArrayLike<number>) => Array.from(data).reduce((a, b) => a + b, 0)
    expectClose([sum(h.data), sum(c.data)], [0.35490768, 1.2035680871], TOLERANCE, 'sums')
    expectClose(h.data.slice(0, 2), [-0.08752164, -0.07270575], TOLERANCE, "h'[0,0]")
    expectClose(h.data.slice(10), [0.2525524, -0.09460557], TOLERANCE, "h'[1,2]")
  })

  test('LayerNormBasicLSTMCell', () => {
    const cell = new LayerNormBasicLSTMCell(3, { dtype, normGain: 1.1, normShift: 0.05 })
    cell.setVariables({ kernel: filled([5, 12], 7, 17, 8, 20) })
    const { state } = cell.call(x, { c: c3, h: h3 })
    const c = [-0.45559977, -0.97127887, 1.57687863, 0.58366405, -1.48229716, 1.04863312]
    const h = [-0.12183164, -0.62223568, 0.34181817, 0.10415649, -0.7038233, 0.44482803]
    expectClose(state.c.data, c, TOLERANCE, 'c')
    expectClose(state.h.data, h, TOLERANCE, 'h')
  })
})
