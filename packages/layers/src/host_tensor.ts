import { isBackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import type { Tensor } from '@cudnn-rnn/canonical'

/** A tensor in host memory: itself, or read from its executor. */
export async function hostTensor(tensor: TensorLike): Promise<Tensor> {
  return isBackendTensor(tensor) ? await tensor.read() : tensor
}
