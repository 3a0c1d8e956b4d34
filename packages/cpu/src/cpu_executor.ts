import { DTYPES, type FloatDType } from '@cudnn-rnn/backend'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { floatView, HostMemory, pinBuffer } from '@cudnn-rnn/executor-kit'
import type { NativeAddon, NativeExecutor } from './native_addon.js'
import type { WeightFormat } from './weight_format.js'

/** From this size on a buffer is aligned to a cache line, so that no vector of the kernels straddles two. */
const ALIGNED_BYTES = 1024
const CACHE_LINE = 64

/** From this size on the memory of a result is used again: the first touch of its pages would take longer than the collector's work. */
const REUSED_BYTES = 1 << 18

/** State shared by the parts of one open CPU executor. */
export interface CpuExecutor {
  readonly addon: NativeAddon
  readonly native: NativeExecutor
  readonly memory: HostMemory
  /** An array with undefined contents, for an operation that writes every element of it. */
  readonly allocateResult: (length: number) => FloatArray
  /** How the matrices of an inference are stored. */
  readonly weightFormat: WeightFormat
}

/** The executor over `native`; disposing its memory closes it. */
export function createCpuExecutor(
  addon: NativeAddon,
  native: NativeExecutor,
  dtype: FloatDType,
  weightFormat: WeightFormat,
): CpuExecutor {
  const { array: FloatArrayOf, bytes } = DTYPES[dtype]
  const allocate = (length: number): FloatArray => {
    if (length * bytes < ALIGNED_BYTES) return new FloatArrayOf(length)
    const buffer = new ArrayBuffer(length * bytes + CACHE_LINE)
    return new FloatArrayOf(buffer, addon.alignedOffset(buffer), length)
  }
  // All threads see the buffer at one address.
  const allocateShared = (length: number): FloatArray => {
    const buffer = new SharedArrayBuffer(length * bytes + CACHE_LINE)
    return floatView(dtype, buffer, addon.alignedOffset(new Uint8Array(buffer)), length)
  }
  const allocateResult = (length: number): FloatArray =>
    length * bytes < REUSED_BYTES ? allocate(length) : new FloatArrayOf(native.resultBuffer(length * bytes), 0, length)
  const queue = {
    failureCode: 'ERR_CPU_OPERATION',
    done: (job: number) => native.done(job),
    pin: pinBuffer,
    close: () => native.close(),
  }
  const memory = new HostMemory(dtype, queue, { own: allocate, shared: allocateShared })
  return { addon, native, weightFormat, allocateResult, memory }
}
