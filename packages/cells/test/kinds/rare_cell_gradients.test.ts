import { describe, expect, test } from 'vitest'
import type { CellState } from '../../src/cell/cell_state.js'
import {
  AttentionCellWrapper,
  BasicRNNCell,
  Conv1DLSTMCell,
  Conv2DLSTMCell,
  Conv3DLSTMCell,
  DropoutWrapper,
  dynamicRnn,
  type FloatTensor,
  GLSTMCell,
  GRUBlockCell,
  HighwayWrapper,
  LayerNormBasicLSTMCell,
  LSTMCell,
  MultiRNNCell,
  NASCell,
  PhasedLSTMCell,
  ResidualWrapper,
  staticRnn,
  UGRNNCell,
} from '../../src/index.js'
import { unstackSteps } from '../../src/sequence/sequence_layout.js'
import { anyState, dot, dotState, expectClose, expectGradient, filledLike, float64, leaves } from '../cell_checks.js'
import { FILLS, fill } from '../goldens.js'

const dtype = 'float64'
const T = 3
const B = 2
const LENGTHS = [3, 1]

/** Cells by the columns of their inputs. */
const CELLS: Readonly<Record<string, readonly [inputSize: number, make: () => unknown]>> = {
  NASCell: [3, () => new NASCell(4, { dtype })],
  'NASCell with bias and projection': [3, () => new NASCell(4, { dtype, useBias: true, numProj: 2 })],
  UGRNNCell: [3, () => new UGRNNCell(4, { dtype })],
  'UGRNNCell relu': [3, () => new UGRNNCell(4, { dtype, activation: 'relu', forgetBias: 0 })],
  PhasedLSTMCell: [3, () => phased({})],
  'PhasedLSTMCell with peepholes, fixed ratio': [3, () => phased({ usePeepholes: true, trainableRatioOn: false })],
  GLSTMCell: [3, () => new GLSTMCell(4, { dtype })],
  'GLSTMCell with groups and projection': [6, () => new GLSTMCell(6, { dtype, numberOfGroups: 3, numProj: 3 })],
  Conv1DLSTMCell: [6, () => new Conv1DLSTMCell({ dtype, inputShape: [3, 2], outputChannels: 2, kernelShape: [2] })],
  'Conv2DLSTMCell without bias': [
    8,
    () => new Conv2DLSTMCell({ dtype, inputShape: [2, 2, 2], outputChannels: 1, kernelShape: [3, 2], useBias: false }),
  ],
  'Conv3DLSTMCell with skip connection': [
    8,
    () => {
      const options = { inputShape: [2, 2, 2, 1], outputChannels: 1, kernelShape: [2, 1, 3], skipConnection: true }
      return new Conv3DLSTMCell({ dtype, ...options })
    },
  ],
  LayerNormBasicLSTMCell: [3, () => new LayerNormBasicLSTMCell(4, { dtype, normGain: 0.9, normShift: 0.1 })],
  'LayerNormBasicLSTMCell with dropout': [3, () => new LayerNormBasicLSTMCell(4, { dtype, dropoutKeepProb: 0.6 })],
  'LayerNormBasicLSTMCell without normalization': [3, () => new LayerNormBasicLSTMCell(4, { dtype, layerNorm: false })],
  'ResidualWrapper of GRUBlockCell': [3, () => new ResidualWrapper(new GRUBlockCell(3, { dtype }))],
  'HighwayWrapper of LSTMCell': [3, () => new HighwayWrapper(new LSTMCell(3, { dtype }))],
  'HighwayWrapper with two gates': [
    3,
    () => new HighwayWrapper(new BasicRNNCell(3, { dtype }), { coupleCarryTransformGates: false, carryBiasInit: 0.5 }),
  ],
  'DropoutWrapper of LSTMCell': [
    3,
    () => {
      const options = { inputKeepProb: 0.7, outputKeepProb: 0.6, stateKeepProb: 0.5, seed: 3 }
      return new DropoutWrapper(new LSTMCell(4, { dtype }), options)
    },
  ],
  'DropoutWrapper, variational': [
    3,
    () => {
      const options = { inputKeepProb: 0.7, outputKeepProb: 0.6, stateKeepProb: 0.5, variationalRecurrent: true }
      return new DropoutWrapper(new GRUBlockCell(4, { dtype }), options)
    },
  ],
  'AttentionCellWrapper of LSTMCell': [3, () => new AttentionCellWrapper(new LSTMCell(4, { dtype }), 3)],
  'AttentionCellWrapper of a stack, all sizes different': [
    3,
    () => {
      const stack = new MultiRNNCell([new LSTMCell(3, { dtype }), new GRUBlockCell(5, { dtype })])
      return new AttentionCellWrapper(stack, 2, { attnSize: 3, attnVecSize: 2, inputSize: 4 })
    },
  ],
  'MultiRNNCell of wrappers': [
    3,
    () =>
      new MultiRNNCell([
        new HighwayWrapper(new UGRNNCell(3, { dtype })),
        new ResidualWrapper(new DropoutWrapper(new LSTMCell(3, { dtype }), { outputKeepProb: 0.5 })),
      ]),
  ],
}

/** A cell whose times are in one period: TensorFlow's gradient of the period is the true one only there. */
function phased(options: object) {
  const cell = new PhasedLSTMCell(3, { dtype, ratioOn: 0.35, leak: 0.01, ...options })
  cell.build(3, { seed: 7 })
  const phase = float64([-1.1, -2.1, -4.2], [3])
  cell.setVariables({ period: float64([10, 9, 8], [3]), phase })
  return cell
}

const sequence = (inputSize: number) => float64(fill(T * B * inputSize, FILLS.x), [T, B, inputSize])

describe('gradients agree with central differences in float64', () => {
  test.each(
    Object.entries(CELLS).flatMap(([name, [inputSize, make]]) =>
      [undefined, LENGTHS].map((lengths) => [name, lengths, inputSize, make] as const),
    ),
  )('dynamicRnn of %s, lengths %s', (name, sequenceLength, inputSize, make) => {
    const cell = anyState(make())
    cell.build(inputSize, { seed: 7 })
    const x = sequence(inputSize)
    const initialState = filledLike(cell.zeroState(B), FILLS.h)
    const dState = filledLike(cell.zeroState(B), FILLS.gradH)
    const dOutputs = float64(fill(T * B * cell.outputSize, FILLS.gradOutput), [T, B, cell.outputSize])
    const masks = cell.randomState()
    const run = () => {
      cell.restoreRandomState(masks)
      return dynamicRnn(cell, x, { initialState, sequenceLength, timeMajor: true })
    }
    const loss = () => {
      const { outputs, state } = run()
      return dot(outputs, dOutputs) + dotState(state, dState)
    }
    const gradients = run().tape.gradients({ outputs: dOutputs, state: dState })
    expectGradient(x, gradients.inputs, loss, 'inputs')
    for (const [k, leaf] of leaves(initialState).entries()) {
      expectGradient(leaf, leaves(gradients.state)[k], loss, `state ${k}`)
    }
    for (const [variable, value] of cell.variables) {
      const gradient = gradients.variables.get(variable)!
      if (name.includes('fixed ratio') && variable === 'ratio_on') expectClose(gradient.data, [0, 0, 0], 0, variable)
      else expectGradient(value, gradient, loss, variable)
    }
  })

  test('PhasedLSTMCell after several periods: mod passes the gradient to the time and the phase alone', () => {
    const cell = new PhasedLSTMCell(1, { dtype, leak: 0.5, ratioOn: 0.1 })
    cell.build(2, { seed: 1 })
    cell.setVariables({ period: float64([2], [1]), phase: float64([0.25], [1]) })
    const x = float64([5.5, 1], [1, 2])
    const state = { c: float64([0.3], [1, 1]), h: float64([-0.2], [1, 1]) }
    const h = () => cell.call(x, state, { training: false }).output.data[0]
    const { input, variables } = cell.call(x, state).tape.gradients({ output: float64([1], [1, 1]) })
    const slope = input.data[0]
    expectGradient(cell.variables.get('phase')!, variables.get('phase')!, h, 'phase')
    expect(variables.get('phase')!.data[0]).toBeCloseTo(-slope, 12)
    // (t - s) mod τ = 1.25, so that ∂φ/∂τ = -1.25/τ² where ∂φ/∂t = 1/τ.
    expect(variables.get('period')!.data[0]).toBeCloseTo((slope * -1.25) / 2, 12)
  })
})

describe('cells have equal results from every function', () => {
  test.each(Object.entries(CELLS))('%s in staticRnn, dynamicRnn and call', (_, [inputSize, make]) => {
    const cell = anyState(make())
    cell.build(inputSize, { seed: 5 })
    const x = sequence(inputSize)
    const masks = cell.randomState()
    const dynamic = dynamicRnn(cell, x, { timeMajor: true })
    cell.restoreRandomState(masks)
    const list = staticRnn(cell, unstackSteps(x))
    cell.restoreRandomState(masks)
    let state: CellState = cell.zeroState(B)
    const steps: FloatTensor[] = []
    const inference: FloatTensor[] = []
    for (const input of unstackSteps(x)) {
      const before = state
      const step = cell.call(input, before)
      inference.push(cell.call(input, before, { training: false }).output)
      state = step.state
      steps.push(step.output)
    }
    const flat = (outputs: readonly FloatTensor[]) => outputs.flatMap(({ data }) => [...data])
    expectClose(flat(list.outputs), dynamic.outputs.data, 1e-15, 'staticRnn')
    const isVariational = cell instanceof DropoutWrapper && cell.variationalRecurrent
    if (!isVariational) expectClose(flat(steps), dynamic.outputs.data, 1e-15, 'call')
    if (masks.length === 0) expectClose(flat(inference), flat(steps), 0, 'inference')
    else expect(flat(inference)).not.toEqual(flat(steps))
  })

  test('AttentionCellWrapper of zeros is zero', () => {
    const cell = new AttentionCellWrapper(new LSTMCell(3, { dtype }), 2)
    cell.build(3)
    const { output, state } = cell.call(float64(Array(6).fill(0), [2, 3]), cell.zeroState(2))
    for (const { data } of [output, ...leaves(state)]) expect(data.every((value) => value === 0)).toBe(true)
  })

  test('DropoutWrapper with all probabilities 1 is its cell; variational masks are one for all steps and rows', () => {
    const inner = new GRUBlockCell(4, { dtype })
    inner.build(3, { seed: 2 })
    const x = sequence(3)
    const plain = dynamicRnn(inner, x, { timeMajor: true })
    expectClose(dynamicRnn(new DropoutWrapper(inner), x, { timeMajor: true }).outputs.data, plain.outputs.data, 0, 'h')
    const cell = new DropoutWrapper(inner, { outputKeepProb: 0.5, variationalRecurrent: true, seed: 1 })
    const zerosOf = (outputs: FloatTensor) =>
      Array.from({ length: T * B }, (_, row) => [...outputs.data.slice(4 * row, 4 * row + 4)].map((h) => h === 0))
    const first = zerosOf(dynamicRnn(cell, x, { timeMajor: true }).outputs)
    for (const row of first) expect(row).toEqual(first[0])
    const later = Array.from({ length: 8 }, () => zerosOf(dynamicRnn(cell, x, { timeMajor: true }).outputs)[0])
    expect(new Set(later.map(String)).size).toBeGreaterThan(1)
  })
})
