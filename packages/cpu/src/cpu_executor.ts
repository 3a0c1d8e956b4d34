import { DTYPES, type FloatDType } from '@cudnn-rnn/ops'
import type { FloatArray } from '@cudnn-rnn/canonical'
import {
  CallNumbers,
  ELEMENT_FUNCTIONS,
  floatView,
  HostMemory,
  type KernelExecutor,
  MATRIX_FORMATS,
  type MatrixFormat,
  networkNumbers,
  pinBuffer,
  REDUCTIONS,
  type TensorKernels,
} from '@cudnn-rnn/ops/executor'
import type { NativeAddon, NativeExecutor, NativeNetwork } from './native_addon.js'

/** From this size on a buffer is aligned to a cache line, so that no vector of the kernels straddles two. */
const ALIGNED_BYTES = 1024
const CACHE_LINE = 64

/** From this size on the memory of a result is used again: the first touch of its pages would take longer than the collector's work. */
const REUSED_BYTES = 1 << 18

/** Results of up to so many bytes lie side by side in buffers of so many. */
const SHORT_BYTES = 1 << 11
const POOL_BYTES = 1 << 14

/** The executor over `native`; disposing its memory closes it. */
export function createCpuExecutor(
  addon: NativeAddon,
  native: NativeExecutor,
  dtype: FloatDType,
  weightFormat: MatrixFormat,
  leavesSmall: boolean,
): KernelExecutor {
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
  // A buffer for each takes longer to allocate and collect than a short call to compute. Node.js has pools for its Buffers.
  let pool = new ArrayBuffer(0)
  let used = 0
  const allocateResult = (length: number): FloatArray => {
    const size = Math.ceil((length * bytes) / CACHE_LINE) * CACHE_LINE
    if (size >= REUSED_BYTES) return new FloatArrayOf(native.resultBuffer(length * bytes), 0, length)
    if (size > SHORT_BYTES) return allocate(length)
    if (used + size > pool.byteLength) {
      pool = new ArrayBuffer(POOL_BYTES)
      used = addon.alignedOffset(pool)
    }
    used += size
    return new FloatArrayOf(pool, used - size, length)
  }
  const queue = {
    failureCode: 'ERR_CPU_OPERATION',
    done: (job: number) => native.done(job),
    pin: pinBuffer,
    close: () => native.close(),
  }
  const memory = new HostMemory(dtype, queue, { own: allocate, shared: allocateShared })
  return {
    ...{ memory, operations: native, tensorKernels: tensorKernels(native) },
    ...{ weightFormat, leavesSmall, allocateResult },
    makeNetwork: (descriptor) => new addon.NativeNetwork(native, networkNumbers(descriptor)),
    moveRegions: (network, params, moves, into) => {
      for (const { canonical, pseudoLayer, side, gate, isBias } of moves) {
        if (canonical.length === 0) continue
        ;(network as NativeNetwork).moveRegion(params, canonical, pseudoLayer, side, gate, isBias, into)
      }
    },
    makeTape: () => new addon.NativeTape(),
    makeStepper: (network, batch) =>
      new addon.NativeStepper(native, network, batch, MATRIX_FORMATS.indexOf(weightFormat)),
    makeQuantizedWeights: (key) => new addon.NativeQuantizedWeights(key),
  }
}

function tensorKernels(native: NativeExecutor): TensorKernels {
  const numbers = new CallNumbers()
  const lengthsOf = (operands: readonly FloatArray[]) => operands.map(({ length }) => length)
  return {
    elements(name, walk, y, read) {
      const operands = [y, ...read]
      const place = ELEMENT_FUNCTIONS.indexOf(name)
      return native.elements({ operands, numbers: numbers.of([place], lengthsOf(operands), walk) })
    },
    reduce(name, outer, inner, y, x) {
      const operands = [y, x]
      const place = REDUCTIONS.indexOf(name)
      return native.reduce({ operands, numbers: numbers.of([place], lengthsOf(operands), outer, inner) })
    },
    products({ count, steps, rows, columns, inner, transposeA, transposeB }, c, a, b) {
      const sizes = [rows, columns, inner, Number(transposeA), Number(transposeB)]
      return native.products({ c, a, b, sizes: numbers.of([count], steps, sizes) })
    },
  }
}
