import { invalidOption } from '@cudnn-rnn/canonical/rules'
import { CELL_MODES, type CellMode, type GateName, gatesOf } from '../cell_mode.js'

/** Whose tensors a layout describes. */
export type Framework = 'tensorflow' | 'pytorch' | 'keras' | 'onnx' | 'flax'

const PLAIN = { rnn_relu: CELL_MODES.rnn_relu.gates, rnn_tanh: CELL_MODES.rnn_tanh.gates } as const
const CUDNN = { lstm: CELL_MODES.lstm.gates, gru: CELL_MODES.gru.gates, ...PLAIN } as const
const UPDATE_FIRST = ['update', 'reset', 'new_memory'] as const

/**
 * The order in which each framework stores the gates of a cell: its own letters are in docs/canonical_layout.md.
 *
 * Sources: cuDNN's linLayerID; TensorFlow `rnn_cell_impl.py` and `lstm_ops.py` (i,c,f,o); `torch.nn.LSTM` (i,f,g,o) and
 * `torch.nn.GRU` (r,z,n); Keras `lstm.py` (i,f,c,o) and `gru.py` (z,r,h); ONNX `defs/rnn/defs.cc` (i,o,f,c and z,r,h);
 * oneDNN "RNN" (i,f,c̃,o and u,r,o); Haste's `lstm.py` (i,g,f,o) and `gru.py` (z,r,h).
 */
export const GATE_ORDERS = Object.freeze({
  cudnn: CUDNN,
  tensorflow: { ...CUDNN, lstm: ['input', 'new_memory', 'forget', 'output'] },
  pytorch: CUDNN,
  keras: { ...CUDNN, gru: UPDATE_FIRST },
  flax: CUDNN,
  onnx: { ...PLAIN, lstm: ['input', 'output', 'forget', 'new_memory'], gru: UPDATE_FIRST },
  onednn: { ...CUDNN, gru: UPDATE_FIRST },
  haste: { ...CUDNN, lstm: ['input', 'new_memory', 'forget', 'output'], gru: UPDATE_FIRST },
} as const satisfies Readonly<
  Record<Framework | 'cudnn' | 'onednn' | 'haste', Readonly<Record<CellMode, readonly GateName[]>>>
>)

/**
 * Position of `gate` among the gates of `mode` as `framework` stores them; -1 when the cell has no such gate.
 *
 * @example
 * ```ts
 * import { gatePosition } from '@cudnn-rnn/rnn/canonical'
 *
 * console.log(gatePosition('cudnn', 'lstm', 'forget'), gatePosition('tensorflow', 'lstm', 'forget')) // 1 2
 * console.log(gatePosition('keras', 'gru', 'forget')) // -1
 * ```
 */
export function gatePosition(framework: keyof typeof GATE_ORDERS, mode: CellMode, gate: GateName): number {
  if (typeof framework !== 'string' || !Object.hasOwn(GATE_ORDERS, framework)) {
    throw invalidOption('find a gate', 'framework', Object.keys(GATE_ORDERS), framework)
  }
  gatesOf(mode)
  const order: readonly GateName[] = GATE_ORDERS[framework][mode]
  return order.indexOf(gate)
}
