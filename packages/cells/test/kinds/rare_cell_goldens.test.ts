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
import { dtype, filled, rows } from './filled_cells.js'

/** TensorFlow's tests compute in float32. */
const FLOAT32_TOLERANCE = 2e-7
const constant = (shape: readonly number[], value: number) => filled(shape, 0, 1, -value, 1)

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
