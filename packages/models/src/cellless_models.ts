import type { Backend, Tape, TensorLike } from '@cudnn-rnn/ops'
import type { CellMode } from '@cudnn-rnn/canonical'
import type { CallResult, GivenTape, InputGradients, OutputGradients } from './call_result.js'
import { type CallOptions, MODEL_OPTION_NAMES, type ModelOptions } from './model_options.js'
import { RecurrentModel } from './recurrent_model.js'
import type { Params } from './variable.js'

/** The models without a cell state: TensorFlow's `_CudnnRNNNoInputC`. */
abstract class CelllessModel<
  Cell extends Exclude<CellMode, 'lstm'> = Exclude<CellMode, 'lstm'>,
> extends RecurrentModel<Cell> {
  constructor(backend: Backend, rnnMode: Cell, options: ModelOptions) {
    super(backend, rnnMode, options, MODEL_OPTION_NAMES)
    this.call = this.call.bind(this)
    this.gradients = this.gradients.bind(this)
  }

  /**
   * Runs a batch of sequences.
   *
   * @param input [T,B,I]
   * @param inputH [L·D,B,H], or null for zeros.
   * @throws RangeError `ERR_SHAPE`, `ERR_SEQUENCE_LENGTHS`, `ERR_OTHER_LAYOUT`, `ERR_TENSOR_DISPOSED`, …;
   *   TypeError `ERR_DTYPE`, `ERR_NOT_A_TENSOR`, `ERR_FOREIGN_TENSOR`
   */
  async call<Training extends boolean = true>(
    input: TensorLike,
    inputH: TensorLike | null,
    params: Params<Cell>,
    options: CallOptions<Training> = {},
  ): Promise<CallResult<Training>> {
    const { output, outputH, tape } = await this.forward(input, inputH, null, params, options)
    return { output, outputH, tape } as CallResult<Training>
  }

  /**
   * Gradients of a loss, given its gradients with respect to the results of the call that made `tape`; absent ones are zero.
   *
   * @throws RangeError `ERR_TAPE_CONSUMED`, `ERR_TAPE_DISPOSED`, `ERR_TAPE_STALE`, `ERR_SHAPE`;
   *   TypeError `ERR_NO_TAPE`, `ERR_TAPE_FOREIGN`
   */
  async gradients<Given extends Tape | undefined>(
    tape: GivenTape<Given>,
    gradients: OutputGradients,
  ): Promise<InputGradients> {
    const { input, inputH, params } = await this.backward(tape, gradients, ['output', 'outputH'])
    return { input, inputH, params }
  }
}

/**
 * `tf.contrib.cudnn_rnn.CudnnGRU`: L layers of GRU, linear before reset, over one opaque parameter buffer.
 *
 *     r,u = σ(W·x + b_W + R·h + b_R)   n = tanh(W_n·x + b_Wn + r∘(R_n·h + b_Rn))   h' = (1-u)∘n + u∘h
 *
 * TensorFlow's `GRUCell` resets before the product and is another function. Equations: NVIDIA's cuDNN.
 *
 * @example
 * ```ts
 * import { CudnnGRU, openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const gru = new CudnnGRU(backend, { numLayers: 1, numUnits: 8, inputSize: 4, direction: 'bidirectional' })
 * const params = gru.createParams({ seed: 1 })
 * const input = { data: new Float32Array(5 * 3 * 4).fill(1), shape: [5, 3, 4] } // [T,B,I]
 * const { output, outputH, tape } = await gru.call(input, null, params, { sequenceLengths: [5, 2, 4] })
 * const gradients = await gru.gradients(tape, { outputH })
 * console.log(output.shape, outputH.shape, gradients.input.shape) // [5, 3, 16] [2, 3, 8] [5, 3, 4]
 * ```
 */
export class CudnnGRU extends CelllessModel<'gru'> {
  constructor(backend: Backend, options: ModelOptions) {
    super(backend, 'gru', options)
  }
}

/**
 * `tf.contrib.cudnn_rnn.CudnnRNNRelu`: h' = max(0, W·x + b_W + R·h + b_R), L layers over one opaque buffer.
 *
 * @example
 * ```ts
 * import { CudnnRNNRelu, openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const rnn = new CudnnRNNRelu(backend, { numLayers: 2, numUnits: 8, inputSize: 4 })
 * const params = rnn.createParams({ seed: 1 })
 * const input = { data: new Float32Array(5 * 3 * 4).fill(1), shape: [5, 3, 4] } // [T,B,I]
 * const { output } = await rnn.run(params, input)
 * console.log(output.shape, (await output.data()).every((h) => h >= 0)) // [5, 3, 8] true
 * ```
 */
export class CudnnRNNRelu extends CelllessModel<'rnn_relu'> {
  constructor(backend: Backend, options: ModelOptions) {
    super(backend, 'rnn_relu', options)
  }
}

/**
 * `tf.contrib.cudnn_rnn.CudnnRNNTanh`: h' = tanh(W·x + b_W + R·h + b_R), L layers over one opaque buffer.
 *
 * @example
 * ```ts
 * import { CudnnRNNTanh, openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const rnn = new CudnnRNNTanh(backend, { numLayers: 1, numUnits: 8, inputSize: 4 })
 * const params = rnn.createParams({ kernelInitializer: 'orthogonal' })
 * const input = { data: new Float32Array(5 * 3 * 4).fill(1), shape: [5, 3, 4] } // [T,B,I]
 * const { output, state } = await rnn.run(params, input)
 * console.log(output.shape, state.h.shape) // [5, 3, 8] [1, 3, 8]
 * ```
 */
export class CudnnRNNTanh extends CelllessModel<'rnn_tanh'> {
  constructor(backend: Backend, options: ModelOptions) {
    super(backend, 'rnn_tanh', options)
  }
}
