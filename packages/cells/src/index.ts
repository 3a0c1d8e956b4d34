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
export type { CellActivation as Activation } from '@cudnn-rnn/canonical'
export { AttentionCellWrapper, type AttentionCellWrapperOptions } from './attention_cell_wrapper.js'
export { BasicLSTMCell, type BasicLSTMCellOptions } from './basic_lstm_cell.js'
export { BasicRNNCell, type BasicRNNCellOptions } from './basic_rnn_cell.js'
export type { CellOptions, GateActivations, GRUCellOptions, PreactivationClip } from './cell_options.js'
export type { CellRun } from './cell_run.js'
export type { CellState, LSTMStateTuple, StateSize, StateTree } from './cell_state.js'
export type { CellTape, TapeWhen } from './cell_tape.js'
export type {
  BuildOptions,
  CellVariables,
  InitialElement,
  VariableInitializer,
  VariableMap,
  VariableSpec,
} from './cell_variables.js'
export { type CheckpointVariable, checkpointVariables } from './checkpoint_variables.js'
export { ConvLSTMCell, type ConvLSTMCellOptions, type ConvNDLSTMCellOptions } from './conv_lstm_cell.js'
export { Conv1DLSTMCell, Conv2DLSTMCell, Conv3DLSTMCell } from './conv_nd_lstm_cells.js'
export { CudnnCompatibleGRUCell } from './cudnn_compatible_gru_cell.js'
export { CudnnCompatibleLSTMCell } from './cudnn_compatible_lstm_cell.js'
export { DropoutWrapper, type DropoutWrapperOptions } from './dropout_wrapper.js'
export { type DynamicRnnOptions, dynamicRnn } from './dynamic_rnn.js'
export type { CellErrorCode } from './error_codes.js'
export type { FloatTensor } from './float_tensor.js'
export type { FusedRNNCell } from './fused_rnn_cell.js'
export { FusedRNNCellAdaptor, type FusedRNNCellAdaptorOptions } from './fused_rnn_cell_adaptor.js'
export { GLSTMCell, type GLSTMCellOptions } from './glstm_cell.js'
export { GRUBlockCell } from './gru_block_cell.js'
export { HighwayWrapper, type HighwayWrapperOptions } from './highway_wrapper.js'
export type { KernelInitializer } from './kernel_initializer.js'
export { LayerNormBasicLSTMCell, type LayerNormBasicLSTMCellOptions } from './layer_norm_basic_lstm_cell.js'
export { LSTMBlockCell } from './lstm_block_cell.js'
export { LSTMBlockFusedCell } from './lstm_block_fused_cell.js'
export type { LSTMBlockOptions } from './lstm_block_options.js'
export { LSTMCell, type LSTMCellOptions } from './lstm_cell.js'
export { MultiRNNCell } from './multi_rnn_cell.js'
export { NASCell, type NASCellOptions } from './nas_cell.js'
export { PhasedLSTMCell, type PhasedLSTMCellOptions } from './phased_lstm_cell.js'
export type { ProductBackend } from './product_backend.js'
export { ResidualWrapper } from './residual_wrapper.js'
export {
  type CellCallOptions,
  type CellInputGradients,
  type CellOutputGradients,
  type CellResult,
  type CellStep,
  RNNCell,
} from './rnn_cell.js'
export type { SequenceInput } from './sequence_layout.js'
export type { SequencePass } from './sequence_pass.js'
export type {
  SequenceInputGradients,
  SequenceOptions,
  SequenceOutputGradients,
  SequenceResult,
  SequenceRunner,
} from './sequence_run.js'
export {
  type BidirectionalGradients,
  type BidirectionalOutputGradients,
  type BidirectionalResult,
  type StackBidirectionalOptions,
  stackBidirectionalDynamicRnn,
} from './stack_bidirectional_dynamic_rnn.js'
export { staticRnn } from './static_rnn.js'
export { type TensorRnnOptions, tensorRnn } from './tensor_rnn.js'
export { TimeReversedFusedRNN } from './time_reversed_fused_rnn.js'
export { UGRNNCell, type UGRNNCellOptions } from './ugrnn_cell.js'
export { scopedName } from './variable_scopes.js'
