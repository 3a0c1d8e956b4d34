import { elementCount } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import type { FloatTensor } from '../src/cell/float_tensor.js'
import {
  BasicRNNCell,
  dynamicRnn,
  FusedRNNCellAdaptor,
  GRUBlockCell,
  LSTMBlockCell,
  LSTMBlockFusedCell,
  LSTMCell,
  MultiRNNCell,
  staticRnn,
} from '../src/index.js'
import { stackSteps, unstackSteps } from '../src/sequence/sequence_layout.js'
import { expectClose, float64 } from './cell_checks.js'
import { FILLS, fill } from './goldens.js'

const T = 4
const B = 3
const I = 3
const H = 5
const LENGTHS = [4, 0, 2]
const dtype = 'float64'

const inputs = () => float64(fill(T * B * I, FILLS.x), [T, B, I])

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
