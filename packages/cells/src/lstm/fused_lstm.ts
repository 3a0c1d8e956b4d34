import { entryOf } from '@cudnn-rnn/canonical/rules'
import type { HostLstm } from '@cudnn-rnn/ops'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { addRow, type HostLstmNorms } from '@cudnn-rnn/ops/executor'
import type { CellRun } from '../cell/cell_run.js'
import type { VariableMap } from '../cell/cell_variables.js'
import { newArray } from '../cell/float_tensor.js'
import type { LSTMArrays, LSTMBackward } from './lstm_sequence.js'

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

export function fusedLSTM(
  lstm: HostLstm,
  { numUnits, forgetBias, variables, norms: scopes, epsilon, dropout }: FusedLSTM,
  run: CellRun,
  arrays: LSTMArrays,
): LSTMBackward {
  const norms: HostLstmNorms | null = scopes === undefined ? null : joinedNorms(run, variables, scopes, epsilon)
  const { data: kernel } = entryOf(variables, 'kernel')
  const pass = lstm.forward({
    ...{ ...arrays, units: numUnits, kernel, kernelBegin: kernel.length - 4 * numUnits * numUnits },
    ...{ gateActivation: 'sigmoid', forgetBias, dropout, norms },
  })
  return (outputs, state, gradients) => {
    const given = { outputs, h: state.h.data, c: state.c.data }
    if (norms === null || scopes === undefined) {
      pass.backward({ ...given, gamma: null, beta: null })
      return
    }
    const gamma = newArray(run.dtype, norms.gamma.length)
    const beta = newArray(run.dtype, norms.beta.length)
    pass.backward({ ...given, gamma, beta })
    for (const [index, scope] of scopes.entries()) {
      addRow(entryOf(gradients, `${scope}/gamma`).data, 0, gamma, index * numUnits, numUnits)
      addRow(entryOf(gradients, `${scope}/beta`).data, 0, beta, index * numUnits, numUnits)
    }
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
