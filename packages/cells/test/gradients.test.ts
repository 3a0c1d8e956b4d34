import { describe, test } from 'vitest'
import type { CellState } from '../src/cell/cell_state.js'
import {
  BasicLSTMCell,
  BasicRNNCell,
  CudnnCompatibleGRUCell,
  CudnnCompatibleLSTMCell,
  dynamicRnn,
  GRUBlockCell,
  LSTMBlockCell,
  LSTMBlockFusedCell,
  LSTMCell,
  MultiRNNCell,
  type RNNCell,
  stackBidirectionalDynamicRnn,
  TimeReversedFusedRNN,
} from '../src/index.js'
import { anyState, dot, dotState, expectGradient, filledLike, float64, leaves } from './cell_checks.js'
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
