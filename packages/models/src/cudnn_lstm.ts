import type { Backend, Tape, TensorLike } from '@cudnn-rnn/ops'
import type { GivenTape, LSTMCallResult, LSTMInputGradients, LSTMOutputGradients } from './call_result.js'
import { type CallOptions, LSTM_OPTION_NAMES, type LSTMOptions } from './model_options.js'
import { RecurrentModel } from './recurrent_model.js'
import type { Params } from './variable.js'

/**
 * `tf.contrib.cudnn_rnn.CudnnLSTM`: L layers of LSTM over one opaque parameter buffer.
 *
 *     i,f,o = σ(W·x + b_W + R·h + b_R)   g = tanh(…)   c' = f∘c + i∘g   h' = o∘tanh(c')
 *
 * No forget bias, no peepholes; gates in the order input, forget, new memory, output. Equations: NVIDIA's cuDNN.
 *
 * @example
 * ```ts
 * import { CudnnLSTM, openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const lstm = new CudnnLSTM(backend, { numLayers: 2, numUnits: 8, inputSize: 4 })
 * const params = lstm.createParams({ seed: 1 })
 * const input = { data: new Float32Array(5 * 3 * 4).fill(1), shape: [5, 3, 4] }
 * const { output, tape } = await lstm.call(input, null, null, params)
 * const gradients = await lstm.gradients(tape, { output })
 * console.log(output.shape, gradients.params.shape) // [5, 3, 8] [1024]
 * ```
 */
export class CudnnLSTM extends RecurrentModel<'lstm'> {
  /**
   * @param options a descriptor of an LSTM will do.
   * @throws as the checks of {@link LSTMOptions}: see `createRnnDescriptor`; RangeError `ERR_OTHER_CELL`
   */
  constructor(backend: Backend, options: LSTMOptions) {
    super(backend, 'lstm', options, LSTM_OPTION_NAMES)
    this.call = this.call.bind(this)
    this.gradients = this.gradients.bind(this)
  }

  /**
   * Runs a batch of sequences.
   *
   * @param input [T,B,I]
   * @param inputH [L·D,B,H] ([L·D,B,P] with numProj), or null for zeros.
   * @param inputC [L·D,B,H], or null for zeros.
   * @throws RangeError `ERR_SHAPE`, `ERR_SEQUENCE_LENGTHS`, `ERR_OTHER_LAYOUT`, `ERR_TENSOR_DISPOSED`, …;
   *   TypeError `ERR_DTYPE`, `ERR_NOT_A_TENSOR`, `ERR_FOREIGN_TENSOR`
   */
  async call<Training extends boolean = true>(
    input: TensorLike,
    inputH: TensorLike | null,
    inputC: TensorLike | null,
    params: Params<'lstm'>,
    options: CallOptions<Training> = {},
  ): Promise<LSTMCallResult<Training>> {
    const result = await this.forward(input, inputH, inputC, params, options)
    return result as LSTMCallResult<Training>
  }

  /**
   * Gradients of a loss, given its gradients with respect to the results of the call that made `tape`; absent ones are zero.
   *
   * @throws RangeError `ERR_TAPE_CONSUMED`, `ERR_TAPE_DISPOSED`, `ERR_TAPE_STALE`, `ERR_SHAPE`;
   *   TypeError `ERR_NO_TAPE`, `ERR_TAPE_FOREIGN`
   */
  async gradients<Given extends Tape | undefined>(
    tape: GivenTape<Given>,
    gradients: LSTMOutputGradients,
  ): Promise<LSTMInputGradients> {
    return (await this.backward(tape, gradients, ['output', 'outputH', 'outputC'])) as LSTMInputGradients
  }
}
