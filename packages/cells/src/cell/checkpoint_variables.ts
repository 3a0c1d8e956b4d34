import { checkArguments, entryOf, TEXT } from '@cudnn-rnn/canonical/rules'
import type { FloatDType } from '@cudnn-rnn/ops'
import type { CellState } from './cell_state.js'
import { copyTensor, type FloatTensor } from './float_tensor.js'
import { CELL, type RNNCell } from './rnn_cell.js'
import { scopedName } from './variable_scopes.js'

/** A variable of a cell as `TensorSaveable.of` takes it. */
export interface CheckpointVariable {
  /** Key in a TensorFlow checkpoint. */
  readonly name: string
  readonly value: {
    readonly shape: readonly number[]
    readonly dtype: FloatDType
    /** A copy of the value. */
    read(): Promise<FloatTensor>
  }
  /** Checks, then copies in. Throws as `setVariables`. */
  assign(tensor: FloatTensor): void
}

/**
 * The variables of a built cell under the keys that a TensorFlow checkpoint has for them.
 *
 * @param scope of the call: `rnn` for TensorFlow's `dynamic_rnn` and `static_rnn`, `bidirectional_rnn/fw` and so on. Default
 *   `rnn`.
 * @throws TypeError `ERR_INVALID_ARGUMENT`
 * @example
 * ```ts
 * import { checkpointVariables, UGRNNCell } from '@cudnn-rnn/rnn/cells'
 * import { Saver, TensorSaveable } from '@cudnn-rnn/rnn/saveable'
 *
 * const cell = new UGRNNCell(8)
 * cell.build(3, { seed: 1 })
 * const saver = new Saver(checkpointVariables(cell).map((variable) => TensorSaveable.of(variable)))
 * // await saver.save('run/model') writes rnn/ugrnn_cell/kernel and rnn/ugrnn_cell/bias
 * ```
 */
export function checkpointVariables<State extends CellState>(
  cell: RNNCell<State>,
  scope = 'rnn',
): readonly CheckpointVariable[] {
  checkArguments('list the variables of a cell', { cell, scope }, { cell: CELL, scope: TEXT })
  return [...cell.variables].map(([own, { shape }]) => ({
    name: scopedName(scope, scopedName(cell.scope, own)),
    value: { shape, dtype: cell.dtype, read: async () => copyTensor(entryOf(cell.variables, own)) },
    assign: (tensor) => cell.setVariables({ [own]: tensor }),
  }))
}
