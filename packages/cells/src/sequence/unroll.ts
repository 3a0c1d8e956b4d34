import { copyRow } from '@cudnn-rnn/ops/executor'
import { type CellState, mapState } from '../cell/cell_state.js'
import { type FloatTensor, newArray } from '../cell/float_tensor.js'
import type { CellStep, RNNCell, SequenceOperands, SequencePass } from '../cell/rnn_cell.js'
import { stackSteps, unstackSteps, withoutPadding } from './sequence_layout.js'
import type { SequenceRunner } from './sequence_run.js'

/** A step cell as something that runs over a sequence. */
export function unrolled<State extends CellState>(cell: RNNCell<State>): SequenceRunner<State> {
  return {
    name: cell.name,
    dtype: cell.dtype,
    inputSize: cell.inputSize,
    stateSize: cell.stateSize,
    outputSize: cell.outputSize,
    build: (inputSize) => cell.build(inputSize),
    zeroGradients: () => cell.zeroGradients(),
    pass: (sequence) => cell.sequencePass?.(sequence) ?? unroll(cell, sequence),
  }
}

/**
 * Steps `cell` over [T,B,I]. Past a row's length its output is 0 and its state is copied through, as TensorFlow's
 * `dynamic_rnn` and `static_rnn` do; the backward copies the state's gradient through in the same way.
 */
function unroll<State extends CellState>(
  cell: RNNCell<State>,
  { inputs, state: initialState, lengths, run }: SequenceOperands<State>,
): SequencePass<State> {
  const [time, batch, inputSize] = inputs.shape as [number, number, number]
  const steps: CellStep<State>[] = []
  let state = initialState
  for (const [t, input] of unstackSteps(withoutPadding(inputs, lengths)).entries()) {
    const step = cell.step(input, state, run)
    steps.push(step)
    state = selectRows(step.state, state, t, lengths)
  }
  const outputs = { data: newArray(cell.dtype, time * batch * cell.outputSize), shape: [time, batch, cell.outputSize] }
  for (const [t, step] of steps.entries()) outputs.data.set(step.output.data, t * batch * cell.outputSize)

  return {
    outputs: withoutPadding(outputs, lengths),
    state: mapState([state], ([leaf]) => ({ data: leaf.data.slice(), shape: leaf.shape })) as State,
    backward(dOutputs, dState, variableGradients) {
      const dOutputSteps = unstackSteps(withoutPadding(dOutputs, lengths))
      const dInputs: FloatTensor[] = []
      const none = cell.zeroState(batch)
      let gradient = dState
      for (let t = time - 1; t >= 0; t--) {
        const arriving = selectRows(gradient, none, t, lengths)
        const below = steps[t].backward(dOutputSteps[t], arriving, variableGradients)
        dInputs.unshift(below.input)
        gradient = selectRows(below.state, gradient, t, lengths)
      }
      const stacked = time === 0 ? { data: newArray(cell.dtype, 0), shape: [0, batch, inputSize] } : undefined
      return { inputs: stacked ?? stackSteps('run backward', 'inputs', dInputs), state: gradient }
    },
  }
}

/** Rows of `active` where the row still has step t, rows of `ended` where it has not. */
function selectRows<State extends CellState>(
  active: State,
  ended: State,
  t: number,
  lengths: Int32Array | null,
): State {
  if (lengths === null) return active
  const select = ([running, standing]: readonly FloatTensor[]): FloatTensor => {
    const { data, shape } = running
    const columns = shape[1]
    const selected = data.slice()
    for (const [b, length] of lengths.entries()) {
      if (t >= length) copyRow(selected, b * columns, standing.data, b * columns, columns)
    }
    return { data: selected, shape }
  }
  return mapState<FloatTensor, FloatTensor>([active, ended], select) as State
}
