import type { CellRun } from '../cell/cell_run.js'
import type { LSTMStateTuple } from '../cell/cell_state.js'
import type { VariableMap } from '../cell/cell_variables.js'
import type { FloatTensor } from '../cell/float_tensor.js'
import { fusedLSTM } from './fused_lstm.js'
import { lstmLoops } from './lstm_loops.js'
import type { LSTMRule } from './lstm_rule.js'
import { lstmSequence } from './lstm_sequence.js'
import type { SequencePass } from '../cell/sequence_pass.js'

/**
 * A sequence [T,B,I] under one of TensorFlow's LSTM rules. The executor's kernel computes the plain equation, if it has one;
 * a single step has too little work for the copy of the recurrent matrix that the kernel makes.
 */
export function lstmPass(
  rule: LSTMRule,
  variables: VariableMap,
  inputs: FloatTensor,
  state: LSTMStateTuple,
  lengths: Int32Array | null,
  run: CellRun,
): SequencePass<LSTMStateTuple> {
  const { lstm } = run
  return lstmSequence(variables, inputs, state, lengths, run, (arrays) => {
    if (lstm === undefined || arrays.time <= 1 || !isPlain(rule)) return lstmLoops(rule, variables, run, arrays)
    const { numUnits, forgetBias } = rule
    const layer = { numUnits, forgetBias, variables, norms: undefined, epsilon: 0, dropout: null }
    return fusedLSTM(lstm, layer, run, arrays)
  })
}

/** Whether a rule has nothing but gates, candidate and forget bias. */
function isPlain(rule: LSTMRule): boolean {
  const { cellClip, usePeepholes, numProj, preactivationClip } = rule
  const clips = [cellClip, preactivationClip]
  return (
    clips.every((clip) => clip === Number.POSITIVE_INFINITY) &&
    !usePeepholes &&
    numProj === null &&
    rule.activation === 'tanh' &&
    rule.recurrentActivation === 'sigmoid' &&
    rule.stateActivation === 'tanh'
  )
}
