import type { Backend, Tape, TensorLike } from '@cudnn-rnn/ops'
import type { CellMode } from '@cudnn-rnn/canonical'
import type { CallResult, GivenTape, InputGradients, OutputGradients } from './call_result.js'
import { type CallOptions, MODEL_OPTION_NAMES, type ModelOptions } from './model_options.js'
import { RecurrentModel } from './recurrent_model.js'
import type { Params } from './variable.js'

/** The models without a cell state: TensorFlow's `_CudnnRNNNoInputC`. */
export abstract class CelllessModel<
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
