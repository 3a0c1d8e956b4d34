import { invalidOption } from '@cudnn-rnn/canonical/rules'

/**
 * The one table of recurrent cells: gates in canonical order (which is cuDNN's), and whether a cell state exists.
 *
 * A gate's linear-layer id (cuDNN's `linLayerID`) is its index on the input side and index + number of gates on the
 * recurrent side; the LSTM projection follows as id 2·G. Equations: docs/canonical_layout.md.
 */
export const CELL_MODES = Object.freeze({
  lstm: {
    gates: ['input', 'forget', 'new_memory', 'output'],
    hasCellState: true,
  },
  gru: { gates: ['reset', 'update', 'new_memory'], hasCellState: false },
  rnn_relu: { gates: ['hidden'], hasCellState: false },
  rnn_tanh: { gates: ['hidden'], hasCellState: false },
} as const)

/** The recurrent cell: TensorFlow's `rnn_mode`, cuDNN's `cellMode`. GRU is the linear-before-reset variant. */
export type CellMode = keyof typeof CELL_MODES

/** The name of a gate, in the words of TensorFlow's documentation. */
export type GateName = (typeof CELL_MODES)[CellMode]['gates'][number]

/**
 * Gates of a cell in canonical order. Throws RangeError `ERR_INVALID_OPTION` for no cell.
 *
 * @example
 * ```ts
 * import { gatesOf } from '@cudnn-rnn/rnn/canonical'
 *
 * console.log(gatesOf('lstm')) // ['input', 'forget', 'new_memory', 'output']
 * console.log(gatesOf('gru')) // ['reset', 'update', 'new_memory']
 * ```
 */
export function gatesOf(mode: CellMode): readonly GateName[] {
  if (typeof mode !== 'string' || !Object.hasOwn(CELL_MODES, mode)) {
    throw invalidOption('list gates', 'cellMode', Object.keys(CELL_MODES), mode)
  }
  return CELL_MODES[mode].gates
}
