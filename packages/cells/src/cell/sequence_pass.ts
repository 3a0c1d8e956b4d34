import type { CellRun } from './cell_run.js'
import type { VariableMap } from './cell_variables.js'
import type { FloatTensor } from './float_tensor.js'

/** The operands of a {@link SequencePass}. */
export interface SequenceOperands<State> {
  /** [T,B,I] */
  readonly inputs: FloatTensor
  /** Before the first step. */
  readonly state: State
  /** Null when every row has T steps. */
  readonly lengths: Int32Array | null
  readonly run: CellRun
}

/** An unchecked pass over [T,B,I] and its backward, which adds to `variableGradients`. */
export interface SequencePass<State> {
  readonly outputs: FloatTensor
  readonly state: State
  backward(
    outputs: FloatTensor,
    state: State,
    variableGradients: VariableMap,
  ): { readonly inputs: FloatTensor; readonly state: State }
}
