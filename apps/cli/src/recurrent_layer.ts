import {
  type Backend,
  type BackendTensor,
  type CallOptions,
  CudnnGRU,
  CudnnLSTM,
  type ModelOptions,
  type Tape,
  type TensorLike,
  type Variable,
} from '@cudnn-rnn/rnn'
import { type GateWeights, gateWeights } from '@cudnn-rnn/rnn/train'

/** Results of a forward pass; dispose all of them. */
export interface RecurrentPass {
  readonly output: BackendTensor
  readonly outputH: BackendTensor
  /** Of a pass in training. */
  readonly tape: Tape | undefined
  readonly outputC: BackendTensor | undefined
}

/** CudnnLSTM or CudnnGRU with its parameters, where a task does not care which. */
export class RecurrentLayer {
  readonly model: CudnnLSTM | CudnnGRU
  readonly params: Variable

  constructor(backend: Backend, cell: 'lstm' | 'gru', options: ModelOptions) {
    this.model = cell === 'lstm' ? new CudnnLSTM(backend, options) : new CudnnGRU(backend, options)
    this.params = this.model.createParams({ seed: options.seed ?? 0, name: cell })
  }

  /** From a state of zeros. */
  async call(input: TensorLike, options: CallOptions): Promise<RecurrentPass> {
    const { model, params } = this
    if (model instanceof CudnnGRU) return { outputC: undefined, ...(await model.call(input, null, params, options)) }
    return model.call(input, null, null, params, options)
  }

  /** Consumes the tape. */
  async gradients(tape: Tape, outputs: { readonly output?: TensorLike; readonly outputH?: TensorLike }) {
    return this.model.gradients(tape, outputs)
  }

  gates(): Promise<GateWeights[]> {
    return gateWeights(this.model, this.params.value)
  }

  dispose(): void {
    this.params.dispose()
    this.model.dispose()
  }
}
