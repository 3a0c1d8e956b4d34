import type { FloatArray } from '@cudnn-rnn/canonical'

/**
 * Gamma and beta of the four gates and the cell state, in the order i, g, f, o, c'.
 *
 * @inline
 */
type HostLstmNorms = {
  /** [5,H] */
  readonly gamma: FloatArray
  /** [5,H] */
  readonly beta: FloatArray
  /** Added to each variance. */
  readonly epsilon: number
}

/**
 * σ of the gates i, f and o: the logistic sigmoid, or Keras 2's hard sigmoid, 0.2·x + 0.5 within [0, 1].
 *
 * @inline
 */
type LstmGateActivation = 'sigmoid' | 'hardSigmoid'

/**
 * The operands of one layer over a sequence, in the executor's dtype. Gates are in TensorFlow's order i, g, f, o.
 *
 * @inline
 */
type HostLstmOperands = {
  readonly time: number
  readonly batch: number
  readonly units: number
  /** [B], 0..T each; null if every row has T steps. */
  readonly lengths: Int32Array | null
  /** The cell's kernel [·,4H]; its recurrent rows [H,4H] begin at element `kernelBegin`. */
  readonly kernel: FloatArray
  readonly kernelBegin: number
  /** `sigmoid` if there are norms: no cell of TensorFlow has both. */
  readonly gateActivation: LstmGateActivation
  readonly forgetBias: number
  /** [T,B,H], factors of the candidate g; null for none. */
  readonly dropout: FloatArray | null
  /** Null without layer normalization. */
  readonly norms: HostLstmNorms | null
  /**
   * [T·B,4H]: the input side x·W + b of every step. Overwritten; after the backward it has the gradients with respect
   * to all pre-activations.
   */
  readonly gates: FloatArray
  /** [(T+1)·B,H]: the initial h in the first B rows; the others are written. Rows that have ended repeat their last state. */
  readonly hidden: FloatArray
  /** [(T+1)·B,H], as `hidden`, of c. */
  readonly cells: FloatArray
}

/**
 * Gradients of the loss with respect to a layer's results. The backward overwrites the final state's with the initial
 * state's.
 *
 * @inline
 */
type HostLstmGradients = {
  /** [T,B,H] */
  readonly outputs: FloatArray
  /** [B,H] */
  readonly h: FloatArray
  /** [B,H] */
  readonly c: FloatArray
  /** [5,H], added to; null without layer normalization. */
  readonly gamma: FloatArray | null
  /** [5,H], added to. */
  readonly beta: FloatArray | null
}

/**
 * A layer that was computed, and its backward.
 *
 * @inline
 */
type HostLstmPass = {
  /** Called at most once, with the arrays of the operands as the forward left them. */
  backward(gradients: HostLstmGradients): void
}

/**
 * The recurrence of TensorFlow's LSTM cells over a whole sequence in host memory, done when the call returns:
 *
 *     i, f, o = σ(LN ẑ_i, LN ẑ_f + φ, LN ẑ_o)   g = drop(tanh(LN ẑ_g))   c' = LN(f∘c + i∘g)   h' = o∘tanh(c')
 *
 * with ẑ = x·W + h·R + b and the forget bias φ; without norms LN is the identity. The products over all steps at once are
 * the caller's.
 */
export interface HostLstm {
  /** @throws `ERR_BACKEND_DISPOSED`, `ERR_OUT_OF_MEMORY`; RangeError `ERR_TENSOR_TRANSFERRED` if an array has another length, `ERR_INVALID_OPTION` for norms without sigmoid gates */
  forward(operands: HostLstmOperands): HostLstmPass
}
