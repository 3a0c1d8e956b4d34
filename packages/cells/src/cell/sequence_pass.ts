import type { VariableMap } from './cell_variables.js'
import type { FloatTensor } from './float_tensor.js'

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
