import { elementCount } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import type { CellState } from '../src/cell/cell_state.js'
import type { FloatTensor } from '../src/cell/float_tensor.js'
import {
  BasicLSTMCell,
  BasicRNNCell,
  CudnnCompatibleGRUCell,
  CudnnCompatibleLSTMCell,
  dynamicRnn,
  FusedRNNCellAdaptor,
  GRUBlockCell,
  LSTMBlockCell,
  LSTMBlockFusedCell,
  LSTMCell,
  MultiRNNCell,
  type RNNCell,
  stackBidirectionalDynamicRnn,
  staticRnn,
  TimeReversedFusedRNN,
} from '../src/index.js'
import { stackSteps, unstackSteps } from '../src/sequence/sequence_layout.js'
import { anyState, dot, dotState, expectClose, expectGradient, filledLike, float64, leaves } from './cell_checks.js'
import { FILLS, fill } from './goldens.js'

const T = 4
const B = 3
const I = 3
const H = 5
const LENGTHS = [4, 0, 2]
const dtype = 'float64'

const CELLS: Record<string, () => RNNCell<CellState>> = {
  LSTMBlockCell: () => anyState(new LSTMBlockCell(H, { dtype, usePeephole: true })),
  'LSTMBlockCell with peepholes and preactivationClip': () =>
    anyState(new LSTMBlockCell(H, { dtype, usePeephole: true, preactivationClip: 0.3 })),
  LSTMCell: () => anyState(new LSTMCell(H, { dtype })),
  'LSTMCell with peepholes, projection and both clips': () =>
    anyState(new LSTMCell(H, { dtype, usePeepholes: true, cellClip: 0.4, numProj: 2, projClip: 0.2 })),
  'BasicLSTMCell relu': () => anyState(new BasicLSTMCell(H, { dtype, activation: 'relu' })),
  CudnnCompatibleLSTMCell: () => anyState(new CudnnCompatibleLSTMCell(H, { dtype })),
  GRUBlockCell: () => anyState(new GRUBlockCell(H, { dtype })),
  CudnnCompatibleGRUCell: () => anyState(new CudnnCompatibleGRUCell(H, { dtype })),
  BasicRNNCell: () => anyState(new BasicRNNCell(H, { dtype })),
  'GRUBlockCell with preactivationClip': () => anyState(new GRUBlockCell(H, { dtype, preactivationClip: 0.3 })),
  'CudnnCompatibleGRUCell with preactivationClip': () =>
    anyState(new CudnnCompatibleGRUCell(H, { dtype, preactivationClip: 0.3 })),
  'BasicRNNCell relu with preactivationClip': () =>
    anyState(new BasicRNNCell(H, { dtype, activation: 'relu', preactivationClip: 0.3 })),
  'LSTMCell of hard_sigmoid and softsign, with peepholes and preactivationClip': () =>
    anyState(
      new LSTMCell(H, {
        dtype,
        usePeepholes: true,
        preactivationClip: 0.3,
        recurrentActivation: 'hard_sigmoid',
        activation: 'softsign',
        stateActivation: 'selu',
      }),
    ),
  'LSTMCell of silu and gelu, with a projection and preactivationClip': () =>
    anyState(
      new LSTMCell(H, {
        dtype,
        numProj: 2,
        preactivationClip: 0.3,
        recurrentActivation: 'silu',
        activation: 'gelu',
      }),
    ),
  'GRUBlockCell of hard_sigmoid': () =>
    anyState(new GRUBlockCell(H, { dtype, recurrentActivation: { name: 'hard_sigmoid', alpha: 1 / 6 } })),
  'CudnnCompatibleGRUCell of mish': () =>
    anyState(new CudnnCompatibleGRUCell(H, { dtype, activation: 'mish', recurrentActivation: 'softplus' })),
  MultiRNNCell: () =>
    anyState(
      new MultiRNNCell([
        new LSTMCell(H, { dtype, numProj: 2 }),
        new GRUBlockCell(3, { dtype }),
        new LSTMCell(2, { dtype }),
      ]),
    ),
}

const inputs = () => float64(fill(T * B * I, FILLS.x), [T, B, I])

describe('tape.gradients agrees with central differences in float64', () => {
  test.each(Object.entries(CELLS))('%s, one step', (_, make) => {
    const cell = make()
    cell.build(I, { seed: 7 })
    const x = float64(fill(B * I, FILLS.x), [B, I])
    const state = filledLike(cell.zeroState(B), FILLS.h)
    const dState = filledLike(cell.zeroState(B), FILLS.gradH)
    const dOutput = float64(fill(B * cell.outputSize, FILLS.gradOutput), [B, cell.outputSize])
    const loss = () => {
      const result = cell.call(x, state, { training: false })
      return dot(result.output, dOutput) + dotState(result.state, dState)
    }
    const gradients = cell.call(x, state).tape.gradients({ output: dOutput, state: dState })
    expectGradient(x, gradients.input, loss, 'input')
    for (const [k, leaf] of leaves(state).entries()) {
      expectGradient(leaf, leaves(gradients.state)[k], loss, `state ${k}`)
    }
    for (const [name, value] of cell.variables) expectGradient(value, gradients.variables.get(name)!, loss, name)
  })

  test.each(
    Object.entries(CELLS).flatMap(([name, make]) =>
      [undefined, LENGTHS].map((sequenceLength) => [name, sequenceLength, make] as const),
    ),
  )('dynamicRnn of %s, lengths %s', (_, sequenceLength, make) => {
    const cell = make()
    cell.build(I, { seed: 7 })
    const x = inputs()
    const initialState = filledLike(cell.zeroState(B), FILLS.h)
    const dState = filledLike(cell.zeroState(B), FILLS.gradH)
    const dOutputs = float64(fill(T * B * cell.outputSize, FILLS.gradOutput), [T, B, cell.outputSize])
    const options = { initialState, sequenceLength, timeMajor: true }
    const loss = () => {
      const result = dynamicRnn(cell, x, { ...options, training: false })
      return dot(result.outputs, dOutputs) + dotState(result.state, dState)
    }
    const gradients = dynamicRnn(cell, x, options).tape.gradients({ outputs: dOutputs, state: dState })
    expectGradient(x, gradients.inputs, loss, 'inputs')
    for (const [k, leaf] of leaves(initialState).entries()) {
      expectGradient(leaf, leaves(gradients.state)[k], loss, `state ${k}`)
    }
    for (const [name, value] of cell.variables) expectGradient(value, gradients.variables.get(name)!, loss, name)
  })

  test.each([[false], [true]])('LSTMBlockFusedCell with lengths, time reversed: %s', (reversed) => {
    const layer = new LSTMBlockFusedCell(H, { dtype, usePeephole: true })
    layer.build(I, { seed: 7 })
    const run = reversed ? new TimeReversedFusedRNN(layer) : layer
    const x = inputs()
    const zero = float64(new Float64Array(B * H), [B, H])
    const initialState = filledLike({ c: zero, h: zero }, FILLS.h)
    const dOutputs = float64(fill(T * B * H, FILLS.gradOutput), [T, B, H])
    const options = { initialState, sequenceLength: LENGTHS }
    const loss = () => dot(run.call(x, { ...options, training: false }).outputs, dOutputs)
    const gradients = run.call(x, options).tape.gradients({ outputs: dOutputs })
    expectGradient(x, gradients.inputs, loss, 'inputs')
    expectGradient(initialState.c, gradients.state.c, loss, 'c')
    expectGradient(initialState.h, gradients.state.h, loss, 'h')
    for (const [name, value] of layer.variables) expectGradient(value, gradients.variables.get(name)!, loss, name)
  })

  test('stackBidirectionalDynamicRnn of two layers with lengths', () => {
    const fw = [new GRUBlockCell(2, { dtype }), new GRUBlockCell(3, { dtype })]
    const bw = [new GRUBlockCell(2, { dtype }), new GRUBlockCell(3, { dtype })]
    const x = inputs()
    const states = (seed: number) => fw.map((cell, k) => filledLike(cell.zeroState(B), [0.5, 0.3 + seed + k, 0.2]))
    const given = { initialStatesFw: states(0), initialStatesBw: states(1) }
    const options = { ...given, sequenceLength: LENGTHS, timeMajor: true }
    const dOutputs = float64(fill(T * B * 6, FILLS.gradOutput), [T, B, 6])
    const [dFw, dBw] = [states(2), states(3)]
    const loss = () => {
      const result = stackBidirectionalDynamicRnn(fw, bw, x, { ...options, training: false })
      return dot(result.outputs, dOutputs) + dotState(result.statesFw, dFw) + dotState(result.statesBw, dBw)
    }
    const { tape } = stackBidirectionalDynamicRnn(fw, bw, x, options)
    const gradients = tape.gradients({ outputs: dOutputs, statesFw: dFw, statesBw: dBw })
    expectGradient(x, gradients.inputs, loss, 'inputs')
    for (const k of [0, 1]) {
      expectGradient(given.initialStatesFw[k], gradients.statesFw[k], loss, `fw ${k}`)
      expectGradient(given.initialStatesBw[k], gradients.statesBw[k], loss, `bw ${k}`)
      for (const [direction, cells] of Object.entries({ fw, bw })) {
        for (const [name, value] of cells[k].variables) {
          const scoped = `cell_${k}/bidirectional_rnn/${direction}/gru_cell/${name}`
          expectGradient(value, gradients.variables.get(scoped)!, loss, scoped)
        }
      }
    }
  })
})

describe('wrappers agree with each other', () => {
  test('LSTMBlockFusedCell, staticRnn, dynamicRnn and FusedRNNCellAdaptor give one set of numbers; NaN padding is inert', () => {
    const cell = new LSTMBlockCell(H, { dtype, usePeephole: true, cellClip: 0.5 })
    cell.build(I, { seed: 3 })
    const fused = new LSTMBlockFusedCell(H, { dtype, usePeephole: true, cellClip: 0.5 })
    fused.setVariables(Object.fromEntries(cell.variables))
    const x = inputs()
    for (let t = 0; t < T; t++) {
      for (let b = 0; b < B; b++) if (t >= LENGTHS[b]) x.data.fill(Number.NaN, (t * B + b) * I, (t * B + b + 1) * I)
    }
    const sequenceLength = LENGTHS
    const dOutputs = float64(fill(T * B * H, FILLS.gradOutput), [T, B, H])
    const expected = fused.call(x, { sequenceLength })
    const expectedGradients = expected.tape.gradients({ outputs: dOutputs })
    expect(expected.outputs.data.every(Number.isFinite)).toBe(true)

    const list = staticRnn(cell, unstackSteps(x), { sequenceLength })
    const listGradients = list.tape.gradients({ outputs: unstackSteps(dOutputs) })
    const all = [
      { ...list, outputs: stackSteps('test', 'outputs', list.outputs), gradients: listGradients.variables },
      ...[
        dynamicRnn(cell, x, { sequenceLength, timeMajor: true }),
        new FusedRNNCellAdaptor(cell).call(x, { sequenceLength }),
        new FusedRNNCellAdaptor(cell, { useDynamicRnn: true }).call(x, { sequenceLength }),
      ].map((run) => ({ ...run, gradients: run.tape.gradients({ outputs: dOutputs }).variables })),
    ]
    for (const { outputs, state, gradients } of all) {
      expectClose(outputs.data, expected.outputs.data, 1e-14, 'outputs')
      expectClose(state.c.data, expected.state.c.data, 1e-14, 'c')
      for (const [name, gradient] of expectedGradients.variables) {
        expectClose(gradients.get(name)!.data, gradient.data, 1e-13, name)
      }
    }
  })

  test('dynamicRnn takes [B,T,I] unless timeMajor', () => {
    const cell = new BasicRNNCell(H, { dtype })
    const { outputs } = dynamicRnn(cell, float64(fill(B * T * I, FILLS.x), [B, T, I]))
    expect(outputs.shape).toEqual([B, T, H])
  })
})

describe('refusals leave everything as it was', () => {
  test('setVariables refuses a wrong shape and writes nothing', () => {
    const cell = new MultiRNNCell([new LSTMCell(2), new LSTMCell(2)])
    cell.build(3)
    const before = [...cell.variables].map(([name, { data }]) => [name, [...data]])
    const good = { data: new Float32Array(5 * 8).fill(9), shape: [5, 8] }
    const bad = { data: new Float32Array(7), shape: [7] }
    const values = { 'cell_0/lstm_cell/kernel': good, 'cell_1/lstm_cell/bias': bad }
    expect(() => cell.setVariables(values)).toThrowError(coded('ERR_SHAPE'))
    expect([...cell.variables].map(([name, { data }]) => [name, [...data]])).toEqual(before)
  })

  test.each<[string, string, () => unknown]>([
    ['an unknown option', 'ERR_UNKNOWN_OPTION', () => new LSTMCell(2, { use_peepholes: true } as object)],
    ['no units', 'ERR_INVALID_OPTION', () => new GRUBlockCell(0)],
    ['a negative LSTMCell clip', 'ERR_INVALID_OPTION', () => new LSTMCell(2, { cellClip: -1 })],
    ['a state of another structure', 'ERR_STATE_STRUCTURE', () => lstm().call(f32([2, 3]), f32([2, 2]) as never)],
    ['an input of rank 3', 'ERR_SHAPE', () => lstm().call(f32([1, 2, 3]), lstm().zeroState(2))],
    ['another input size', 'ERR_SHAPE', () => lstm().call(f32([2, 4]), lstm().zeroState(2))],
    ['another dtype', 'ERR_DTYPE', () => lstm().call(float64([1, 2, 3], [1, 3]), lstm().zeroState(1))],
    ['a length past T', 'ERR_SEQUENCE_LENGTHS', () => dynamicRnn(lstm(), f32([2, 4, 3]), { sequenceLength: [5, 1] })],
    ['an empty list', 'ERR_EMPTY_SEQUENCE', () => staticRnn(lstm(), [])],
    ['a second build', 'ERR_CELL_BUILT', () => lstm().build(4)],
  ])('%s', (_, code, act) => {
    expect(act).toThrowError(coded(code))
  })

  test('a tape refuses a wrong gradient, stays open, and serves once', () => {
    const { output, tape } = lstm().call(f32([2, 3]), lstm().zeroState(2))
    expect(() => tape.gradients({ output: f32([2, 5]) })).toThrowError(coded('ERR_SHAPE'))
    tape.gradients({ output })
    expect(() => tape.gradients({ output })).toThrowError(coded('ERR_TAPE_CONSUMED'))
  })
})

function lstm(): LSTMCell {
  const cell = new LSTMCell(2)
  cell.build(3)
  return cell
}

function f32(shape: readonly number[]): FloatTensor {
  return { data: new Float32Array(elementCount(shape)).fill(0.5), shape }
}
