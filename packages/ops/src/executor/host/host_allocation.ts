import type { CodedError, FloatArray } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { DTYPES, type FloatDType } from '@cudnn-rnn/ops'

/**
 * Runs `allocate`, which makes arrays on the host, and turns the engine's refusal to make one into RangeError
 * `ERR_OUT_OF_MEMORY`.
 *
 * @param requestedBytes for the message; absent if it is not known.
 */
export function allocating<Result>(action: string, allocate: () => Result, requestedBytes?: number): Result {
  try {
    return allocate()
  } catch (error) {
    if (!isAllocationFailure(error)) throw error
    throw outOfMemory(action, requestedBytes, error)
  }
}

/** Makes zeroed arrays of `dtype`; throws as {@link allocating}. */
export function hostAllocator(
  dtype: FloatDType,
  make: (length: number) => FloatArray = (length) => new DTYPES[dtype].array(length),
): (length: number) => FloatArray {
  const { bytes } = DTYPES[dtype]
  return (length) => allocating('allocate memory', () => make(length), length * bytes)
}

/** How an executor makes zeroed arrays whose address matters to it. */
export interface HostAllocation {
  own(length: number): FloatArray
  /** Over a SharedArrayBuffer. */
  shared(length: number): FloatArray
}

/** Makes zeroed arrays of `dtype` over a SharedArrayBuffer. */
export function sharedAllocator(dtype: FloatDType): (length: number) => FloatArray {
  return (length) => floatView(dtype, new SharedArrayBuffer(length * DTYPES[dtype].bytes), 0, length)
}

/** A view of `length` elements of a buffer, which threads may share. */
export function floatView(dtype: FloatDType, buffer: ArrayBufferLike, byteOffset: number, length: number): FloatArray {
  const FloatArrayOf: { new (buffer: ArrayBufferLike, byteOffset: number, length: number): FloatArray } =
    DTYPES[dtype].array
  return new FloatArrayOf(buffer, byteOffset, length)
}

/** The error for memory that the host does not have. */
export function outOfMemory(
  action: string,
  requestedBytes: number | undefined,
  cause?: unknown,
): CodedError<RangeError> {
  const asked = requestedBytes === undefined ? 'its arrays are' : `${requestedBytes} bytes are`
  return codedRangeError(
    'ERR_OUT_OF_MEMORY',
    `Cannot ${action} as ${asked} more than this process can have. Use smaller batches, or dispose tensors and tapes that are not needed.`,
    { requestedBytes, cause },
  )
}

/** V8's, SpiderMonkey's and JavaScriptCore's RangeErrors for an array that is too large, now or ever. */
function isAllocationFailure(error: unknown): boolean {
  return (
    error instanceof RangeError &&
    !('code' in error) &&
    /allocation failed|array (buffer )?length|out of memory|too large|invalid array/i.test(error.message)
  )
}
