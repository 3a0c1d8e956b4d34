import type { BackendTensor, FloatDType } from '@cudnn-rnn/ops'
import { elementCount } from '@cudnn-rnn/canonical'
import { checkTensor, ownTensor } from '@cudnn-rnn/ops/executor'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import type { CudnnTensor } from '../device/cudnn_tensor.js'
import type { DeviceBuffer } from '../device/device_buffer.js'

/** The numbers of ncclDataType_t. */
export const NCCL_TYPES: Readonly<Record<FloatDType | 'bfloat16', number>> = { float32: 7, float64: 8, bfloat16: 9 }

/** The numbers of ncclRedOp_t. */
export const NCCL_REDUCTIONS = { sum: 0, max: 2, min: 3 } as const

/** An array on the device, and the tensor whose elements it has. */
export interface DeviceArray {
  readonly tensor: CudnnTensor
  readonly buffer: DeviceBuffer
  readonly count: number
}

/**
 * The arrays of tensors of `executor`; tensors without elements have no memory, and no rank sends them. The caller marks
 * those that it writes: {@link markWritten}.
 *
 * @throws TypeError `ERR_FOREIGN_TENSOR`, `ERR_NOT_A_TENSOR`, `ERR_DTYPE` for another type than the executor's; RangeError
 *   `ERR_TENSOR_DISPOSED`, `ERR_BACKEND_DISPOSED`
 */
export function deviceArrays(
  { memory }: CudnnExecutor,
  action: string,
  tensors: readonly BackendTensor[],
): readonly DeviceArray[] {
  memory.life.check(action)
  const own = tensors.map((tensor, index) => {
    const name = `tensors[${index}]`
    return checkTensor(action, name, ownTensor(memory, action, name, tensor), { dtype: memory.dtype })
  })
  return own
    .map((tensor) => ({ tensor, buffer: tensor.buffer, count: elementCount(tensor.shape) }))
    .filter(({ count }) => count > 0)
}

/**
 * Marks the tensors of arrays that a queued call writes: converted copies of them, and tapes of passes that read them, are
 * out of date from here on.
 */
export function markWritten(arrays: readonly DeviceArray[]): void {
  for (const { tensor } of arrays) tensor.version++
}
