import { describe, expect, test } from 'vitest'
import {
  BasicLSTMCell,
  dynamicRnn,
  GRUBlockCell,
  LSTMBlockCell,
  LSTMBlockFusedCell,
  LSTMCell,
  MultiRNNCell,
} from '../src/index.js'
import { expectClose, float32 } from './cell_checks.js'
import { BLOCK_LSTM_GOLDENS, FILLS, fill, GRU_BLOCK_GOLDEN } from './goldens.js'

/** Kernels of 0.5 and TensorFlow's default biases, as rnn_cell_test.py (v1.15.5) builds its cells. */
function half(cell: BasicLSTMCell | GRUBlockCell | LSTMBlockCell | LSTMCell | MultiRNNCell, inputSize: number): void {
  cell.build(inputSize)
  const kernels = [...cell.variables].filter(([name]) => /kernel$|w_ru$|w_c$/.test(name))
  cell.setVariables(
    Object.fromEntries(kernels.map(([name, { data, shape }]) => [name, { data: data.slice().fill(0.5), shape }])),
  )
}
const row = (value: number, columns: number) => float32(new Float32Array(columns).fill(value), [1, columns])

describe('TensorFlow 1.15.5 rnn_cell_test.py', () => {
  test.each([
    [2, 0.175991],
    [3, 0.156736],
  ])('GRUBlockCell gives the h of testGRUCell for %i inputs', (inputSize, h) => {
    const cell = new GRUBlockCell(2)
    half(cell, inputSize)
    expectClose(cell.call(row(1, inputSize), row(0.1, 2)).state.data, [h, h], 1e-6, 'h')
  })

  test('MultiRNNCell of two GRUBlockCells gives the states of testMultiRNNCell', () => {
    const cell = new MultiRNNCell([new GRUBlockCell(2), new GRUBlockCell(2)])
    half(cell, 2)
    const { output } = cell.call(row(1, 2), [row(0.1, 2), row(0.1, 2)])
    expectClose(output.data, [0.13248, 0.13248], 1e-6, 'output')
  })

  test.each([
    ['BasicLSTMCell', () => [new BasicLSTMCell(2), new BasicLSTMCell(2)]],
    ['LSTMBlockCell', () => [new LSTMBlockCell(2), new LSTMBlockCell(2)]],
  ] as const)('MultiRNNCell of two %ss gives the numbers of testBasicLSTMCell', (_, cells) => {
    const cell = new MultiRNNCell(cells())
    half(cell, 2)
    const start = { c: row(0.1, 2), h: row(0.1, 2) }
    const { output, state } = cell.call(row(1, 2), [start, start])
    expectClose(output.data, [0.24024698, 0.24024698], 1e-6, 'output')
    const [below, above] = state as readonly (typeof start)[]
    expectClose(below.c.data, [0.68967271, 0.68967271], 1e-6, 'c0')
    expectClose(below.h.data, [0.44848421, 0.44848421], 1e-6, 'h0')
    expectClose(above.c.data, [0.39897051, 0.39897051], 1e-6, 'c1')
    expectClose(above.h.data, [0.24024698, 0.24024698], 1e-6, 'h1')
  })

  test('LSTMCell in dynamicRnn gives the numbers of the DropoutWrapper tests', () => {
    const cell = new LSTMCell(3)
    half(cell, 3)
    const { outputs, state } = dynamicRnn(cell, float32([2, 2, 2, 1, 1, 1], [2, 1, 3]), {
      initialState: { c: row(0.1, 3), h: row(0.1, 3) },
      timeMajor: true,
    })
    expectClose(outputs.data, [0.751109, 0.751109, 0.751109, 0.895509, 0.895509, 0.895509], 1e-6, 'outputs')
    expectClose(state.c.data, [1.949385, 1.949385, 1.949385], 1e-6, 'c')
    const first = cell.call(row(2, 3), { c: row(0.1, 3), h: row(0.1, 3) })
    const dropped = cell.call(row(1, 3), { c: first.state.c, h: row(0, 3) })
    expectClose(dropped.state.c.data, [1.713925, 1.713925, 1.713925], 1e-6, 'c with h dropped')
  })
})

describe('TensorFlow 2.21.0 raw ops', () => {
  const T = 5
  const B = 2
  const I = 3
  const H = 4

  test.each(BLOCK_LSTM_GOLDENS.map((golden) => [golden.id, golden] as const))('BlockLSTM %s', (_, golden) => {
    const { steps, forgetBias, cellClip, usePeephole, gradients } = golden
    const diagonals = ['w_i_diag', 'w_f_diag', 'w_o_diag'] as const
    const variables = {
      kernel: float32(fill((I + H) * 4 * H, FILLS.weights), [I + H, 4 * H]),
      bias: float32(fill(4 * H, FILLS.biases), [4 * H]),
      ...(usePeephole ? Object.fromEntries(diagonals.map((name) => [name, float32(fill(H, FILLS[name]), [H])])) : {}),
    }
    const inputs = float32(fill(T * B * I, FILLS.x), [T, B, I])
    const initialState = { c: float32(fill(B * H, FILLS.c), [B, H]), h: float32(fill(B * H, FILLS.h), [B, H]) }
    const fused = new LSTMBlockFusedCell(H, { forgetBias, cellClip, usePeephole })
    fused.setVariables(variables)
    const sequenceLength = [steps, steps]
    const { outputs, state, tape } = fused.call(inputs, { initialState, sequenceLength })
    expectClose(outputs.data, golden.h, 2e-6, 'h')
    expectClose(state.c.data, golden.cs.slice((steps - 1) * B * H, steps * B * H), 2e-6, 'last cs')
    const ones = { data: new Float32Array(T * B * H).fill(1), shape: [T, B, H] }
    const actual = tape.gradients({ outputs: ones })
    expectClose(actual.inputs.data, gradients.x_grad, 2e-6, 'x_grad')
    expectClose(actual.state.c.data, gradients.cs_prev_grad, 2e-6, 'cs_prev_grad')
    expectClose(actual.state.h.data, gradients.h_prev_grad, 2e-6, 'h_prev_grad')
    expectClose(actual.variables.get('kernel')!.data, gradients.w_grad, 2e-6, 'w_grad')
    expectClose(actual.variables.get('bias')!.data, gradients.b_grad, 2e-6, 'b_grad')
    if (usePeephole) {
      expectClose(actual.variables.get('w_i_diag')!.data, gradients.wci_grad, 2e-6, 'wci_grad')
      expectClose(actual.variables.get('w_f_diag')!.data, gradients.wcf_grad, 2e-6, 'wcf_grad')
      expectClose(actual.variables.get('w_o_diag')!.data, gradients.wco_grad, 2e-6, 'wco_grad')
    }

    const cell = new LSTMBlockCell(H, { forgetBias, cellClip, usePeephole })
    cell.setVariables(variables)
    let stepState: typeof initialState | { c: typeof state.c; h: typeof state.h } = initialState
    for (let t = 0; t < steps; t++) {
      const x = float32(inputs.data.slice(t * B * I, (t + 1) * B * I), [B, I])
      stepState = cell.call(x, stepState).state
      expectClose(stepState.c.data, golden.cs.slice(t * B * H, (t + 1) * B * H), 2e-6, `cs at step ${t}`)
    }
  })

  test('GRUBlockCell gives the h of tf.raw_ops.GRUBlockCell', () => {
    const cell = new GRUBlockCell(H)
    cell.setVariables({
      w_ru: float32(fill((I + H) * 2 * H, FILLS.weights), [I + H, 2 * H]),
      b_ru: float32(fill(2 * H, FILLS.biases), [2 * H]),
      w_c: float32(fill((I + H) * H, FILLS.candidateWeights), [I + H, H]),
      b_c: float32(fill(H, FILLS.candidateBiases), [H]),
    })
    const { output } = cell.call(float32(fill(B * I, FILLS.x), [B, I]), float32(fill(B * H, FILLS.h), [B, H]))
    expectClose(output.data, GRU_BLOCK_GOLDEN.h, 1e-6, 'h')
    expect(output.shape).toEqual([B, H])
  })
})
