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
export { AttentionCellWrapper, type AttentionCellWrapperOptions } from './wrappers/attention_cell_wrapper.js'
export { BasicLSTMCell, type BasicLSTMCellOptions } from './lstm/basic_lstm_cell.js'
export { BasicRNNCell, type BasicRNNCellOptions } from './kinds/basic_rnn_cell.js'
export type { CellOptions, GateActivations, GRUCellOptions, PreactivationClip } from './cell/cell_options.js'
export type { CellRun } from './cell/cell_run.js'
export type { CellState, LSTMStateTuple, StateSize, StateTree } from './cell/cell_state.js'
export type { CellTape, TapeWhen } from './cell/cell_tape.js'
export type {
  BuildOptions,
  CellVariables,
  InitialElement,
  VariableInitializer,
  VariableMap,
  VariableSpec,
} from './cell/cell_variables.js'
export { type CheckpointVariable, checkpointVariables } from './cell/checkpoint_variables.js'
export { ConvLSTMCell, type ConvLSTMCellOptions, type ConvNDLSTMCellOptions } from './kinds/conv_lstm_cell.js'
export { Conv1DLSTMCell, Conv2DLSTMCell, Conv3DLSTMCell } from './kinds/conv_nd_lstm_cells.js'
export { CudnnCompatibleGRUCell } from './kinds/cudnn_compatible_gru_cell.js'
export { CudnnCompatibleLSTMCell } from './lstm/cudnn_compatible_lstm_cell.js'
export { DropoutWrapper, type DropoutWrapperOptions } from './wrappers/dropout_wrapper.js'
export { type DynamicRnnOptions, dynamicRnn } from './sequence/dynamic_rnn.js'
export type { CellErrorCode } from './error_codes.js'
export type { FloatTensor } from './cell/float_tensor.js'
export type { FusedRNNCell } from './sequence/fused_rnn_cell.js'
export { FusedRNNCellAdaptor, type FusedRNNCellAdaptorOptions } from './sequence/fused_rnn_cell_adaptor.js'
export { GLSTMCell, type GLSTMCellOptions } from './kinds/glstm_cell.js'
export { GRUBlockCell } from './kinds/gru_block_cell.js'
export { HighwayWrapper, type HighwayWrapperOptions } from './wrappers/highway_wrapper.js'
export type { KernelInitializer } from './cell/kernel_initializer.js'
export { LayerNormBasicLSTMCell, type LayerNormBasicLSTMCellOptions } from './kinds/layer_norm_basic_lstm_cell.js'
export { LSTMBlockCell } from './lstm/lstm_block_cell.js'
export { LSTMBlockFusedCell } from './lstm/lstm_block_fused_cell.js'
export type { LSTMBlockOptions } from './lstm/lstm_block_options.js'
export { LSTMCell, type LSTMCellOptions } from './lstm/lstm_cell.js'
export { MultiRNNCell } from './wrappers/multi_rnn_cell.js'
export { NASCell, type NASCellOptions } from './kinds/nas_cell.js'
export { PhasedLSTMCell, type PhasedLSTMCellOptions } from './kinds/phased_lstm_cell.js'
export type { ProductBackend } from './cell/product_backend.js'
export { ResidualWrapper } from './wrappers/residual_wrapper.js'
export {
  type CellCallOptions,
  type CellInputGradients,
  type CellOutputGradients,
  type CellResult,
  type CellStep,
  RNNCell,
} from './cell/rnn_cell.js'
export type { SequenceInput } from './sequence/sequence_layout.js'
export type { SequenceOperands, SequencePass } from './cell/sequence_pass.js'
export type {
  SequenceInputGradients,
  SequenceOptions,
  SequenceOutputGradients,
  SequenceResult,
  SequenceRunner,
} from './sequence/sequence_run.js'
export {
  type BidirectionalGradients,
  type BidirectionalOutputGradients,
  type BidirectionalResult,
  type StackBidirectionalOptions,
  stackBidirectionalDynamicRnn,
} from './sequence/stack_bidirectional_dynamic_rnn.js'
export { staticRnn } from './sequence/static_rnn.js'
export { type TensorRnnOptions, tensorRnn } from './graph/tensor_rnn.js'
export { TimeReversedFusedRNN } from './sequence/time_reversed_fused_rnn.js'
export { UGRNNCell, type UGRNNCellOptions } from './kinds/ugrnn_cell.js'
export { scopedName } from './cell/variable_scopes.js'
