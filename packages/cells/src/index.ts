/**
 * TensorFlow's recurrent cells and the functions that run them over sequences, on host tensors, with TensorFlow's
 * variables. Every call returns a tape; `tape.gradients(…)` is its backward.
 *
 * @example
 * ```ts
 * import { dynamicRnn, LSTMCell, MultiRNNCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new MultiRNNCell([new LSTMCell(8, { numProj: 4 }), new LSTMCell(8)])
 * cell.build(3, { seed: 1 })
 * const inputs = { data: new Float32Array(2 * 5 * 3).fill(0.1), shape: [2, 5, 3] } // [B,T,I]
 * const { outputs, tape } = dynamicRnn(cell, inputs, { sequenceLength: [5, 2] })
 * const { variables } = tape.gradients({ outputs })
 * console.log([...variables.keys()][0]) // cell_0/lstm_cell/kernel
 * ```
 * @packageDocumentation
 */

export type { CellRun } from './cell/cell_run.js'
export type { CellState, LSTMStateTuple, StateSize, StateTree } from './cell/cell_state.js'
export type { CellTape } from './cell/cell_tape.js'
export type { VariableSpec } from './cell/cell_variables.js'
export { type CheckpointVariable, checkpointVariables } from './cell/checkpoint_variables.js'
export type { FloatTensor } from './cell/float_tensor.js'
export { type CellResult, type CellStep, RNNCell, type SequenceOperands, type SequencePass } from './cell/rnn_cell.js'
export { scopedName } from './cell/variable_scopes.js'
export { tensorRnn } from './graph/tensor_rnn.js'
export { BasicRNNCell } from './kinds/basic_rnn_cell.js'
export { ConvLSTMCell } from './kinds/conv_lstm_cell.js'
export { Conv1DLSTMCell, Conv2DLSTMCell, Conv3DLSTMCell } from './kinds/conv_nd_lstm_cells.js'
export { CudnnCompatibleGRUCell, GRUBlockCell } from './kinds/gru_cell.js'
export { GLSTMCell } from './kinds/glstm_cell.js'
export { LayerNormBasicLSTMCell } from './kinds/layer_norm_basic_lstm_cell.js'
export { NASCell } from './kinds/nas_cell.js'
export { PhasedLSTMCell } from './kinds/phased_lstm_cell.js'
export { UGRNNCell } from './kinds/ugrnn_cell.js'
export { BasicLSTMCell, CudnnCompatibleLSTMCell } from './lstm/basic_lstm_cell.js'
export { LSTMBlockCell } from './lstm/lstm_block_cell.js'
export { LSTMBlockFusedCell } from './lstm/lstm_block_fused_cell.js'
export { LSTMCell } from './lstm/lstm_cell.js'
export { dynamicRnn, staticRnn } from './sequence/dynamic_rnn.js'
export { type FusedRNNCell, FusedRNNCellAdaptor, TimeReversedFusedRNN } from './sequence/fused_wrapper.js'
export type { SequenceResult, SequenceRunner } from './sequence/sequence_run.js'
export { stackBidirectionalDynamicRnn } from './sequence/stack_bidirectional_dynamic_rnn.js'
export { AttentionCellWrapper } from './wrappers/attention_cell_wrapper.js'
export { DropoutWrapper } from './wrappers/dropout_wrapper.js'
export { HighwayWrapper } from './wrappers/highway_wrapper.js'
export { MultiRNNCell } from './wrappers/multi_rnn_cell.js'
export { ResidualWrapper } from './wrappers/residual_wrapper.js'
