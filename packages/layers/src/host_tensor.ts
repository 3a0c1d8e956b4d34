import type { Tensor } from '@cudnn-rnn/canonical'
import type { LayerInput } from './forwarded.js'

/** A tensor in host memory: itself, or read from its executor. */
export async function hostTensor(tensor: LayerInput): Promise<Tensor> {
  return 'read' in tensor ? await tensor.read() : tensor
}
