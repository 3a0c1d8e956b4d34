import { describeValue, type Tensor } from '@cudnn-rnn/canonical'
import { codedTypeError } from '@cudnn-rnn/canonical/rules'
import { isBackendTensor } from '@cudnn-rnn/ops'
import { checkTensor } from '@cudnn-rnn/ops/executor'
import type { LayerInput } from './forwarded.js'

/** A tensor in host memory: itself, or read from its executor. */
export async function hostTensor(tensor: LayerInput): Promise<Tensor> {
  return 'read' in tensor ? await tensor.read() : tensor
}

/**
 * A tensor of floating numbers in host memory.
 *
 * @throws TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`; RangeError `ERR_SHAPE`
 */
export function checkedHostTensor<Given extends Tensor>(action: string, name: string, tensor: Given): Given {
  if (isBackendTensor(tensor)) {
    throw codedTypeError(
      'ERR_NOT_A_TENSOR',
      `Cannot ${action} as ${name} must be a tensor of the host: current value is ${describeValue(tensor)}`,
    )
  }
  const data: unknown = (tensor as Given | undefined)?.data
  return checkTensor(action, name, tensor, { dtype: data instanceof Float64Array ? 'float64' : 'float32' })
}
