import { elementCount } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import {
  type CellState,
  Conv1DLSTMCell,
  Conv2DLSTMCell,
  Conv3DLSTMCell,
  type FloatTensor,
  GLSTMCell,
  LayerNormBasicLSTMCell,
  LSTMCell,
  MultiRNNCell,
  NASCell,
  PhasedLSTMCell,
  type RNNCell,
  UGRNNCell,
} from '../../src/index.js'
import { expectClose, float64 } from '../cell_checks.js'

const dtype = 'float64'
/** The digits of the numbers below. */
const TOLERANCE = 2e-8
/** TensorFlow's tests compute in float32. */
const FLOAT32_TOLERANCE = 2e-7

/** Element n in row-major order is ((n·a) mod m - o)/d. */
function filled(shape: readonly number[], a: number, m: number, o: number, d: number): FloatTensor {
  const count = elementCount(shape)
  return float64(
    Float64Array.from({ length: count }, (_, n) => (((n * a) % m) - o) / d),
    shape,
  )
}
const constant = (shape: readonly number[], value: number) => filled(shape, 0, 1, -value, 1)
/** Rows of `columns` equal values. */
const rows = (values: readonly number[], columns: number) =>
  float64(
    values.flatMap((value) => Array(columns).fill(value)),
    [values.length, columns],
  )

/** Every variable of the cell at one value. */
function setAll<State extends CellState>(
  cell: RNNCell<State>,
  inputSize: number,
  values: Readonly<Record<string, number>>,
): void {
  cell.build(inputSize)
  const given = [...cell.variables].flatMap(([name, { shape }]) => {
    const value = values[name.split('/').at(-1)!]
    return value === undefined ? [] : [[name, constant(shape, value)] as const]
  })
  cell.setVariables(Object.fromEntries(given))
}

describe("numbers of TensorFlow 1.15's own tests", () => {
  const x = rows([1, 2, 3], 4)

  test.each([
    [null, [0.57675087, 0.6189357, 0.62739348], [0.71579772, 0.78041625, 0.79457647]],
    [5, [1.69741797, 1.84003687, 1.87398517], [0.69855207, 0.77073824, 0.78973997]],
  ])('NASCell, numProj %s', (numProj, h, c) => {
    const cell = new NASCell(6, { dtype, numProj })
    setAll(cell, 4, { kernel: 0.5, recurrent_kernel: 0.5, projection_weights: 0.5 })
    const size = numProj ?? 6
    const { output, state } = cell.call(x, { c: rows([0.1, 0.1, 0.1], 6), h: rows([0.1, 0.1, 0.1], size) })
    expectClose(output.data, rows(h, size).data, FLOAT32_TOLERANCE, 'm')
    expectClose(state.h.data, rows(h, size).data, FLOAT32_TOLERANCE, 'm')
    expectClose(state.c.data, rows(c, 6).data, FLOAT32_TOLERANCE, 'c')
  })

  test('UGRNNCell', () => {
    const cell = new UGRNNCell(2, { dtype, initializer: 0.5 })
    const { output, state } = cell.call(x, rows([0.1, 0.1, 0.1], 2))
    expectClose(output.data, rows([0.13752282, 0.10545051, 0.10074195], 2).data, FLOAT32_TOLERANCE, 'h')
    expectClose(state.data, output.data, 0, 'state')
  })

  test('PhasedLSTMCell', () => {
    const cell = new PhasedLSTMCell(2, { dtype })
    setAll(cell, 5, { kernel: 0.5 })
    // TensorFlow's test draws the periods and phases; these give its twelve numbers.
    cell.setVariables({ period: float64([391.6, 19.912625], [2]), phase: float64([60.475951, 12.321784], [2]) })
    const timed = float64([1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3], [3, 5])
    const { output, state } = cell.call(timed, cell.zeroState(3))
    const c = [0.00072015, 0.00036633, 0.00083481, 0.00047266, 0.00085111, 0.00053054]
    const h = [0.0005159, 0.00026243, 0.00062958, 0.00035646, 0.00064732, 0.00040351]
    expectClose(state.c.data, c, FLOAT32_TOLERANCE, 'c')
    expectClose(state.h.data, h, FLOAT32_TOLERANCE, 'h')
    expectClose(output.data, h, FLOAT32_TOLERANCE, 'output')
  })

  test('GLSTMCell of one group is an LSTMCell; each half of two groups is one of half the size', () => {
    const x = filled([2, 4], 5, 9, 4, 4)
    const halves = [0, 1].map((half) =>
      float64(
        [0, 1].flatMap((row) => [...x.data.slice(4 * row + 2 * half, 4 * row + 2 * half + 2)]),
        [2, 2],
      ),
    )
    const lstm = (inputs: FloatTensor, units: number) => {
      const cell = new LSTMCell(units, { dtype })
      setAll(cell, inputs.shape[1], { kernel: 0.5 })
      return cell.call(inputs, cell.zeroState(2)).output
    }
    const one = new GLSTMCell(4, { dtype, initializer: 0.5 })
    expectClose(one.call(x, one.zeroState(2)).output.data, lstm(x, 4).data, 1e-15, 'one group')
    const two = new GLSTMCell(4, { dtype, initializer: 0.5, numberOfGroups: 2 })
    const { output } = two.call(x, two.zeroState(2))
    for (const [half, inputs] of halves.entries()) {
      const expected = lstm(inputs, 2)
      for (const row of [0, 1]) {
        const actual = output.data.slice(4 * row + 2 * half, 4 * row + 2 * half + 2)
        expectClose(actual, expected.data.slice(2 * row, 2 * row + 2), 1e-15, `half ${half}`)
      }
    }
  })

  test.each([
    ['Conv1DLSTMCell', new Conv1DLSTMCell({ dtype, inputShape: [2, 1], outputChannels: 1, kernelShape: [3] }), 1 / 2],
    [
      'Conv2DLSTMCell',
      new Conv2DLSTMCell({ dtype, inputShape: [2, 2, 1], outputChannels: 1, kernelShape: [3, 3] }),
      1 / 4,
    ],
    [
      'Conv3DLSTMCell',
      new Conv3DLSTMCell({ dtype, inputShape: [2, 2, 2, 1], outputChannels: 1, kernelShape: [3, 3, 3] }),
      1 / 8,
    ],
  ])('%s', (_, cell, weight) => {
    const size = cell.outputSize
    setAll(cell, size, { kernel: weight })
    const x = rows([1, 2], size)
    const { output, state } = cell.call(x, { c: x, h: rows([0, 0], size) })
    expectClose(state.c.data, rows([1.4375670191, 2.7542609292], size).data, 1e-9, 'c')
    expectClose(state.h.data, rows([0.6529865603, 0.8736877431], size).data, 1e-9, 'h')
    expectClose(output.data, state.h.data, 0, 'output')
  })

  test.each([
    [true, [-1, 1, -1, 1], [-0.38079708, 0.38079708, -0.38079708, 0.38079708]],
    [false, [0.8020075, 0.89599884, 1.17500675, 1.26892781], [0.56668288, 0.60858738, 0.70230919, 0.72581059]],
  ])('LayerNormBasicLSTMCell, two stacked, layerNorm %s', (layerNorm, c, h) => {
    const cells = [0, 1].map(() => new LayerNormBasicLSTMCell(2, { dtype, layerNorm }))
    const stack = new MultiRNNCell(cells)
    setAll(stack, 2, { kernel: 0.5, bias: 0.5 })
    const pair = (values: readonly number[]) => float64(values, [1, 2])
    const { state } = stack.call(pair([1, 1]), [
      { c: pair([0, 0.1]), h: pair([0.2, 0.3]) },
      { c: pair([0.4, 0.5]), h: pair([0.6, 0.7]) },
    ])
    const leaves = state as readonly { c: FloatTensor; h: FloatTensor }[]
    expectClose(
      leaves.flatMap(({ c }) => [...c.data]),
      c,
      FLOAT32_TOLERANCE,
      'c',
    )
    expectClose(
      leaves.flatMap(({ h }) => [...h.data]),
      h,
      FLOAT32_TOLERANCE,
      'h',
    )
  })

  test('LayerNormBasicLSTMCell drops elements of the candidate, in training only', () => {
    const cell = new LayerNormBasicLSTMCell(5, { dtype, layerNorm: false, dropoutKeepProb: 0.5 })
    setAll(cell, 5, { kernel: 1, bias: 0 })
    const ones = rows([1], 5)
    const { state } = cell.call(ones, { c: ones, h: ones })
    const kept = [...state.c.data].map((c) => c > 2)
    expect(kept).toContain(true)
    expect(kept).toContain(false)
    expectClose(
      state.c.data,
      kept.map((is) => (is ? 2.9998924946 : 0.999983298578)),
      1e-8,
      'c',
    )
    expectClose(
      state.h.data,
      kept.map((is) => (is ? 0.995008519604 : 0.761552567265)),
      1e-8,
      'h',
    )
    const inference = cell.call(ones, { c: ones, h: ones }, { training: false }).state
    expect(new Set(inference.c.data).size).toBe(1)
    expect(inference.c.data[0]).toBeCloseTo(1.99994, 4)
  })
})

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
