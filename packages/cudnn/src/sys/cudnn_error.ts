import { type ErrorCode, NamedError } from '@cudnn-rnn/canonical/rules'

/** The fields of the addon's errors. */
export interface NativeErrorFields {
  readonly library: string
  readonly call: string
  readonly status: number
  readonly statusName: string
  readonly detail: string
  readonly requestedBytes: number
  readonly freeBytes: number
  readonly totalBytes: number
}

/**
 * A call into NVIDIA's libraries that failed.
 *
 * @example
 * ```ts
 * import { CudnnError } from '@cudnn-rnn/rnn/executors'
 *
 * const isCommunication = (error: unknown) => error instanceof CudnnError && error.code === 'ERR_NCCL'
 * console.log(isCommunication(new Error('other'))) // false
 * ```
 */
export class CudnnError extends NamedError {
  static override readonly errorName = 'CudnnError'
  /** The C function. */
  readonly call: string
  readonly status: number
  /** CUDNN_STATUS_NOT_SUPPORTED, cudaErrorIllegalAddress, … */
  readonly statusName: string
  /** The library's own text about this failure; often empty. */
  readonly detail: string
  /** Bytes of device memory requested and free, if memory ran out; else 0. */
  readonly requestedBytes: number
  readonly freeBytes: number

  constructor(code: ErrorCode, message: string, fields: NativeErrorFields, options?: ErrorOptions) {
    super(code, message, options)
    this.call = fields.call
    this.status = fields.status
    this.statusName = fields.statusName
    this.detail = fields.detail
    this.requestedBytes = fields.requestedBytes
    this.freeBytes = fields.freeBytes
  }
}

/**
 * Turns an error of the addon into a {@link CudnnError}; any other error is returned unchanged.
 *
 * @param action "run forward": completes "Cannot <action> as …".
 */
export function cudnnError(action: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('statusName' in error)) return error
  const fields = error as Error & NativeErrorFields
  const code = codeOf(fields)
  return new CudnnError(code, `Cannot ${action} as ${ruleOf(code, fields)}`, fields, { cause: error })
}

function codeOf({ library, call, status, statusName }: NativeErrorFields): ErrorCode {
  if (statusName === 'SESSION_CLOSED') return 'ERR_BACKEND_DISPOSED'
  switch (library) {
    case 'cudnn':
      return cudnnCodeOf(status)
    case 'cublas':
      return 'ERR_CUBLAS'
    case 'nvrtc':
      return 'ERR_NVRTC'
    case 'nccl':
      return 'ERR_NCCL'
    default:
      if (call.startsWith('cudaMalloc') && status === 2) return 'ERR_OUT_OF_DEVICE_MEMORY'
      return STICKY_ERRORS.has(status) ? 'ERR_DEVICE_LOST' : 'ERR_CUDA'
  }
}

/** Errors after which the process must be terminated, by the comments of driver_types.h. */
const STICKY_ERRORS: ReadonlySet<number> = new Set([214, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721])

/** cuDNN 9 numbers its statuses from 1000 on by category; 8 counts from 1. The two share no number but 0. */
function cudnnCodeOf(status: number): ErrorCode {
  if (status === 4004 || status === 4003 || status === 2) return 'ERR_OUT_OF_DEVICE_MEMORY'
  const category = Math.floor(status / 1000)
  if (category === 3 || status === 9 || status === 6) return 'ERR_CUDNN_NOT_SUPPORTED'
  if (category === 2 || status === 3 || status === 5) return 'ERR_CUDNN_BAD_PARAM'
  return 'ERR_CUDNN'
}

/** The end of "Cannot <action> as …". */
function ruleOf(code: ErrorCode, fields: NativeErrorFields): string {
  const { call, statusName, status, detail, requestedBytes, freeBytes, totalBytes } = fields
  const text = detail === '' ? '' : ` ("${detail.trim()}")`
  switch (code) {
    case 'ERR_BACKEND_DISPOSED':
      return 'the backend was disposed'
    case 'ERR_OUT_OF_DEVICE_MEMORY':
      if (requestedBytes === 0) return `${call} ran out of device memory${text}. Use smaller batches.`
      return `${requestedBytes} bytes of device memory were requested and ${freeBytes} of ${totalBytes} are free. Use smaller batches, or dispose tensors and tapes that are not needed.`
    case 'ERR_DEVICE_LOST':
      return `the device failed in an earlier call, ${statusName} (${status})${text}, and cannot be used again in this process. Restart the process.`
    case 'ERR_NCCL':
      if (statusName === 'TIMEOUT') return `${call} did not end within ${detail} s`
      if (statusName === 'ABORTED') return `${call} cannot be made: ${detail}`
      return `${call} returned ${statusName} (${status})${text}`
    default:
      return `${call} returned ${statusName} (${status})${text}`
  }
}
