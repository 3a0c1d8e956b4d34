import { entryOf } from '@cudnn-rnn/canonical/rules'
import type { HostLstm } from '@cudnn-rnn/ops'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { addRow, type HostLstmNorms } from '@cudnn-rnn/ops/executor'
import type { CellRun } from './cell_run.js'
import type { LSTMStateTuple } from './cell_state.js'
import type { VariableMap } from './cell_variables.js'
import { addInputGradient, addKernelGradients, inputSide } from './concat_product.js'
import { copyTensor, type FloatTensor, newArray, zeros } from './float_tensor.js'
import { withoutPadding } from './sequence_layout.js'
import type { SequencePass } from './sequence_pass.js'

/** An LSTM whose recurrence the executor computes, with the variables `kernel` [I+H,4H] and, in cells with one, `bias` [4H]. */
export interface FusedLSTM {
  readonly numUnits: number
  readonly forgetBias: number
  readonly variables: VariableMap
  /** Scopes of `gamma` and `beta` of the gates i, g, f, o and of c'; undefined without layer normalization. */
  readonly norms: readonly string[] | undefined
  /** Added to each variance. */
  readonly epsilon: number
  /** [T,B,H], factors of the candidate; null for none. */
  readonly dropout: FloatArray | null
}

/**
 * A whole sequence on the executor: one product for the input side of all steps, its kernel for the recurrence, and in the
 * backward one product for each of the gradients of kernel and inputs.
 */
export function fusedLSTMPass(
  lstm: HostLstm,
  { numUnits, forgetBias, variables, norms: scopes, epsilon, dropout }: FusedLSTM,
  inputs: FloatTensor,
  state: LSTMStateTuple,
  lengths: Int32Array | null,
  run: CellRun,
): SequencePass<LSTMStateTuple> {
  const [time, batch, inputSize] = inputs.shape as [number, number, number]
  const stateSize = batch * numUnits
  const kernel = entryOf(variables, 'kernel')
  const bias = variables.get('bias')
  const x = withoutPadding(inputs, lengths).data
  const gates = newArray(run.dtype, time * 4 * stateSize)
  const hidden = newArray(run.dtype, (time + 1) * stateSize)
  const cells = newArray(run.dtype, (time + 1) * stateSize)
  hidden.set(state.h.data)
  cells.set(state.c.data)
  inputSide(run, gates, { kernel, inputSize }, bias, x)
  const norms: HostLstmNorms | null = scopes === undefined ? null : joinedNorms(run, variables, scopes, epsilon)
  const pass = lstm.forward({
    time,
    batch,
    units: numUnits,
    lengths,
    kernel: kernel.data,
    kernelBegin: inputSize * 4 * numUnits,
    gateActivation: 'sigmoid',
    forgetBias,
    dropout,
    norms,
    gates,
    hidden,
    cells,
  })
  const outputs = { data: hidden.subarray(stateSize), shape: [time, batch, numUnits] }
  const last = (states: FloatArray) => ({ data: states.slice(time * stateSize), shape: [batch, numUnits] })
  return {
    outputs: withoutPadding(outputs, lengths),
    state: { c: last(cells), h: last(hidden) },
    backward(dOutputs, dState, gradients) {
      const c = copyTensor(dState.c)
      const h = copyTensor(dState.h)
      const given = { outputs: dOutputs.data, h: h.data, c: c.data }
      if (norms === null || scopes === undefined) {
        pass.backward({ ...given, gamma: null, beta: null })
      } else {
        const gamma = newArray(run.dtype, norms.gamma.length)
        const beta = newArray(run.dtype, norms.beta.length)
        pass.backward({ ...given, gamma, beta })
        for (const [index, scope] of scopes.entries()) {
          addRow(entryOf(gradients, `${scope}/gamma`).data, 0, gamma, index * numUnits, numUnits)
          addRow(entryOf(gradients, `${scope}/beta`).data, 0, beta, index * numUnits, numUnits)
        }
      }
      // The gates are now the gradients with respect to all pre-activations. The step after t read row t of the hidden
      // states.
      const read = hidden.subarray(0, time * stateSize)
      addKernelGradients(run, entryOf(gradients, 'kernel'), gradients.get('bias'), inputSize, x, read, gates)
      const dInputs = zeros(run.dtype, inputs.shape)
      addInputGradient(run, dInputs.data, { kernel, inputSize }, gates)
      return { inputs: dInputs, state: { c, h } }
    },
  }
}

/** The norms' variables as two arrays [5,H]. */
function joinedNorms(run: CellRun, variables: VariableMap, scopes: readonly string[], epsilon: number): HostLstmNorms {
  const joined = (name: string) => {
    const rows = scopes.map((scope) => entryOf(variables, `${scope}/${name}`).data)
    const all = newArray(
      run.dtype,
      rows.reduce((sum, { length }) => sum + length, 0),
    )
    for (const [index, row] of rows.entries()) all.set(row, index * row.length)
    return all
  }
  return { gamma: joined('gamma'), beta: joined('beta'), epsilon }
}
