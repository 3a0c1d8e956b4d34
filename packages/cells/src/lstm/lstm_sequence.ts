import { entryOf } from '@cudnn-rnn/canonical/rules'
import type { FloatArray } from '@cudnn-rnn/canonical'
import type { LSTMStateTuple } from '../cell/cell_state.js'
import type { VariableMap } from '../cell/cell_variables.js'
import { addInputGradient, addKernelGradients, inputSide } from '../cell/concat_product.js'
import { copyTensor, type FloatTensor, newArray, zeros } from '../cell/float_tensor.js'
import { withoutPadding } from '../sequence/sequence_layout.js'
import type { SequenceOperands, SequencePass } from '../cell/rnn_cell.js'

/** The arrays of a recurrence; step t reads rows [t·B, (t+1)·B) and writes one B further in the two states. */
export interface LSTMArrays {
  readonly time: number
  readonly batch: number
  /** Null when every row has T steps. A row that has ended carries its state on. */
  readonly lengths: Int32Array | null
  /** [T·B,4H]: x·W + b, after the forward i, g, f, o, after the backward the gradients with respect to all pre-activations. */
  readonly gates: FloatArray
  /** [(T+1)·B,H], the initial state in the first B rows. */
  readonly cells: FloatArray
  /** [(T+1)·B,P], likewise. */
  readonly hidden: FloatArray
}

/**
 * The backward of a recurrence that was computed: adds to the gradients of variables but for the kernel and the bias.
 *
 * @param outputs [T,B,P]; the gradients of the final `state`, on return those of the initial one.
 */
export type LSTMBackward = (outputs: FloatArray, state: LSTMStateTuple, variableGradients: VariableMap) => void

/**
 * A whole sequence: one product computes the input side of all steps, and `recur` the recurrence. The backward has one product for the
 * gradient of the kernel and one for the gradient of the inputs. Padding gives zeros.
 */
export function lstmSequence(
  variables: VariableMap,
  { inputs, state, lengths, run }: SequenceOperands<LSTMStateTuple>,
  recur: (arrays: LSTMArrays) => LSTMBackward,
): SequencePass<LSTMStateTuple> {
  const [time, batch, inputSize] = inputs.shape as [number, number, number]
  const kernel = { kernel: entryOf(variables, 'kernel'), inputSize }
  const x = withoutPadding(inputs, lengths).data
  const gates = newArray(run.dtype, time * batch * kernel.kernel.shape[1])
  const states = ({ data, shape }: FloatTensor) => {
    const all = newArray(run.dtype, (time + 1) * batch * shape[1])
    all.set(data)
    return all
  }
  const [cells, hidden] = [states(state.c), states(state.h)]
  inputSide(run, gates, kernel, variables.get('bias'), x)
  const backward = recur({ time, batch, lengths, gates, cells, hidden })
  const [units, columns] = [state.c.shape[1], state.h.shape[1]]
  const last = (all: FloatArray, width: number) => ({ data: all.slice(time * batch * width), shape: [batch, width] })
  return {
    outputs: withoutPadding({ data: hidden.subarray(batch * columns), shape: [time, batch, columns] }, lengths),
    state: { c: last(cells, units), h: last(hidden, columns) },
    backward(dOutputs, dState, gradients) {
      const own = { c: copyTensor(dState.c), h: copyTensor(dState.h) }
      backward(dOutputs.data, own, gradients)
      // The step after t read row t of the hidden states.
      const read = hidden.subarray(0, time * batch * columns)
      addKernelGradients(run, entryOf(gradients, 'kernel'), gradients.get('bias'), inputSize, x, read, gates)
      const dInputs = zeros(run.dtype, inputs.shape)
      addInputGradient(run, dInputs.data, kernel, gates)
      return { inputs: dInputs, state: own }
    },
  }
}
