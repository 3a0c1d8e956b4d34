import type { Tensor } from '@cudnn-rnn/canonical'
import {
  BasicRNNCell,
  CudnnCompatibleGRUCell,
  dynamicRnn,
  GRUBlockCell,
  LSTMBlockCell,
  LSTMCell,
} from '@cudnn-rnn/cells'
import type { ImportedCell } from '../src/index.js'
import type { Numbers } from './fixture.js'

type Doubles = Tensor<Float64Array>

/** Results of an imported cell for `input` [T,B,I] from its imported states, in float64. */
export function runCell(
  { cell, options: cellOptions, numUnits, variables, inputs }: ImportedCell,
  input: Numbers,
): { readonly output: Doubles; readonly h: Doubles; readonly c?: Doubles } {
  const B = input.shape[1]!
  const state = (given: Tensor | undefined): Doubles => ({
    data: given === undefined ? new Float64Array(B * numUnits) : Float64Array.from(given.data),
    shape: [B, numUnits],
  })
  const own = Object.entries(variables).map(([name, { data, shape }]) => {
    return [name, { data: Float64Array.from(data), shape }] as const
  })
  const x = { data: Float64Array.from(input.data), shape: input.shape }
  const options = { timeMajor: true, training: false, sequenceLength: inputs.sequenceLengths ?? null } as const
  const built = { ...cellOptions, dtype: 'float64' } as const
  if (cell === 'LSTMBlockCell' || cell === 'LSTMCell') {
    const lstm = new { LSTMBlockCell, LSTMCell }[cell](numUnits, built)
    lstm.setVariables(Object.fromEntries(own))
    const initialState = { c: state(inputs.initialC), h: state(inputs.initialH) }
    const result = dynamicRnn(lstm, x, { ...options, initialState })
    return { output: result.outputs as Doubles, h: result.state.h as Doubles, c: result.state.c as Doubles }
  }
  const Cell = { GRUBlockCell, CudnnCompatibleGRUCell, BasicRNNCell }[cell]
  const simple = new Cell(numUnits, built)
  simple.setVariables(Object.fromEntries(own))
  const result = dynamicRnn(simple, x, { ...options, initialState: state(inputs.initialH) })
  return { output: result.outputs as Doubles, h: result.state as Doubles }
}
