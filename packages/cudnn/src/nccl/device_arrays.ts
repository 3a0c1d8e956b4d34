import type { BackendTensor, FloatDType } from '@cudnn-rnn/backend'
import { elementCount } from '@cudnn-rnn/canonical'
import { ownTensor } from '@cudnn-rnn/executor-kit'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import type { DeviceBuffer } from '../device/device_buffer.js'

/** As ncclDataType_t numbers them. */
export const NCCL_TYPES: Readonly<Record<FloatDType | 'bfloat16', number>> = { float32: 7, float64: 8, bfloat16: 9 }

/** As ncclRedOp_t numbers them. */
export const NCCL_REDUCTIONS = { sum: 0, max: 2, min: 3 } as const

/** An array on the device. */
export interface DeviceArray {
  readonly buffer: DeviceBuffer
  readonly count: number
}

/**
 * The arrays of tensors of `executor`; tensors without elements have no memory, and no rank sends them.
 *
 * @throws TypeError `ERR_FOREIGN_TENSOR`; RangeError `ERR_BACKEND_DISPOSED`
 */
export function deviceArrays(
  { memory }: CudnnExecutor,
  action: string,
  tensors: readonly BackendTensor[],
): readonly DeviceArray[] {
  memory.life.check(action)
  const own = tensors.map((tensor, index) => ownTensor(memory, action, `tensors[${index}]`, tensor))
  return own
    .map((tensor) => ({ buffer: tensor.buffer, count: elementCount(tensor.shape) }))
    .filter(({ count }) => count > 0)
}
