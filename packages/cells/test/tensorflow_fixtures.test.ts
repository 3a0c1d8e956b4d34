import { elementCount } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import fixture from '../../../fixtures/cells/tensorflow.json' with { type: 'json' }
import type { CellState, LSTMStateTuple } from '../src/cell/cell_state.js'
import type { FloatTensor } from '../src/cell/float_tensor.js'
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
  type RNNCell,
} from '../src/index.js'
import { expectClose, float64 } from './cell_checks.js'
import { FILLS, fill } from './goldens.js'

const STEP_CELLS = {
  BasicLSTMCell,
  BasicRNNCell,
  CudnnCompatibleGRUCell,
  CudnnCompatibleLSTMCell,
  // TensorFlow's GRUCell and GRUBlockCell are one mathematics; only the variables' names differ.
  GRUCell: GRUBlockCell,
  GRUBlockCell,
  LSTMBlockCell,
  LSTMCell,
}
const GRU_NAMES: Record<string, string> = {
  'gates/kernel': 'w_ru',
  'gates/bias': 'b_ru',
  'candidate/kernel': 'w_c',
  'candidate/bias': 'b_c',
}

/** TensorFlow's own float32 rounding if the block ops made the numbers; both sides double otherwise. */
const TOLERANCE = { float32: 2e-6, float64: 1e-12 }

interface Case {
  id: string
  cell: string
  run: string
  options: Record<string, unknown>
  dtype: string
  numUnits: number
  inputSize: number
  T?: number
  B: number
  sequenceLengths?: number[]
  variables: Record<string, number[]>
  expected: {
    output: string
    state: Record<string, string>
    gradInput: string
    gradState: Record<string, string>
    gradVariables: Record<string, string>
  }
}

function decode(base64: string): Float64Array {
  return new Float64Array(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)).buffer)
}

function filled(shape: readonly number[], formula: readonly [number, number, number], first = 0): FloatTensor {
  const size = elementCount(shape)
  return float64(fill(size, formula, first), shape)
}

const isPair = (state: CellState): state is LSTMStateTuple => 'c' in state
const parts = (state: CellState): Record<string, FloatTensor> =>
  isPair(state) ? { c: state.c, h: state.h } : { h: state as FloatTensor }

describe('cells against fixtures/cells/tensorflow.json', () => {
  test('the fixture holds cases of every cell', () => {
    expect(new Set(fixture.cases.map(({ cell }) => cell)).size).toBeGreaterThanOrEqual(8)
  })

  test.each((fixture.cases as unknown as Case[]).map((one) => [one.id, one] as const))('%s', (_, one) => {
    const isGru = one.cell === 'GRUCell'
    const nameOf = (name: string) => (isGru ? (GRU_NAMES[name] ?? name) : name)
    // The fixture states the forget bias of 0 that this class does not let one choose.
    const own = one.cell === 'CudnnCompatibleLSTMCell' ? {} : one.options
    const options = { ...own, dtype: 'float64' as const }
    const fused = one.cell === 'LSTMBlockFusedCell' ? new LSTMBlockFusedCell(one.numUnits, options) : undefined
    const CellClass = STEP_CELLS[one.cell as keyof typeof STEP_CELLS]
    const cell = fused ?? (new CellClass(one.numUnits, options) as unknown as RNNCell<CellState>)

    const values: Record<string, FloatTensor> = {}
    let first = 0
    for (const [name, shape] of Object.entries(one.variables)) {
      const value = filled(shape, FILLS.weights, first)
      first += value.data.length
      values[nameOf(name)] = value
    }
    cell.setVariables(values)

    const input = filled([...(one.T === undefined ? [] : [one.T]), one.B, one.inputSize], FILLS.x)
    const outputColumns = cell.outputSize
    const isLstm = typeof cell.stateSize === 'object'
    const stateOf = (h: readonly [number, number, number], c: readonly [number, number, number]): CellState =>
      isLstm
        ? { c: filled([one.B, one.numUnits], c), h: filled([one.B, outputColumns], h) }
        : filled([one.B, outputColumns], h)
    const state = stateOf(FILLS.h, FILLS.c)
    const gradState = stateOf(FILLS.gradH, FILLS.gradC)
    const gradOutput = filled([...(one.T === undefined ? [] : [one.T]), one.B, outputColumns], FILLS.gradOutput)

    const sequenceLength = one.sequenceLengths
    const results = (() => {
      if (one.run === 'step') {
        const { output, state: next, tape } = (cell as RNNCell<CellState>).call(input, state)
        return { output, next, gradients: tape.gradients({ output: gradOutput, state: gradState }) }
      }
      const run =
        fused === undefined
          ? dynamicRnn(cell as RNNCell<CellState>, input, { initialState: state, sequenceLength, timeMajor: true })
          : fused.call(input, { initialState: state as LSTMStateTuple, sequenceLength })
      const gradients = (run.tape as NonNullable<typeof run.tape>).gradients({
        outputs: gradOutput,
        state: gradState as LSTMStateTuple,
      })
      return { output: run.outputs, next: run.state, gradients: { ...gradients, input: gradients.inputs } }
    })()

    const tolerance = TOLERANCE[one.dtype as keyof typeof TOLERANCE]
    const { expected } = one
    expectClose(results.output.data, decode(expected.output), tolerance, 'output')
    expectClose(results.gradients.input.data, decode(expected.gradInput), tolerance, 'gradient with respect to input')
    for (const [part, value] of Object.entries(expected.state)) {
      expectClose(parts(results.next)[part].data, decode(value), tolerance, `state ${part}`)
    }
    for (const [part, value] of Object.entries(expected.gradState)) {
      expectClose(
        parts(results.gradients.state)[part].data,
        decode(value),
        tolerance,
        `gradient with respect to state ${part}`,
      )
    }
    for (const [name, value] of Object.entries(expected.gradVariables)) {
      const gradient = results.gradients.variables.get(nameOf(name))!
      expectClose(gradient.data, decode(value), tolerance, `gradient with respect to ${name}`)
    }
  })
})
