import type { BackendTensor } from '@cudnn-rnn/backend'

/** The tensors of a pass that has not ended: where it fails, `using` disposes them. */
export class UnfinishedTensors {
  readonly #tensors: BackendTensor[] = []

  /** The tensor itself. */
  add<Tensor extends BackendTensor>(tensor: Tensor): Tensor {
    this.#tensors.push(tensor)
    return tensor
  }

  /** Ends the pass: its tensors belong to the result from here on. Returns the result. */
  finish<Result>(result: Result): Result {
    this.#tensors.length = 0
    return result
  }

  [Symbol.dispose](): void {
    for (const tensor of this.#tensors) tensor.dispose()
  }
}
