import type { FloatArray } from '@cudnn-rnn/canonical'
import { codedError, codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { FloatDType } from '@cudnn-rnn/ops'
import { allocating } from '@cudnn-rnn/ops/executor'
import { CallFrame } from './call_frame.js'
import type { HeapMemory } from './heap_memory.js'
import type { Address, WasmExports } from './wasm_exports.js'
import { maySleep, type WasmInstance } from './wasm_instance.js'

/** Exports that free an object of the module. */
type Free = 'networkFree' | 'quantizedFree' | 'tapeFree' | 'stepperFree'

/** Ends the workers of heaps that were collected without being closed. */
const abandoned = new FinalizationRegistry<() => void>((stop) => stop())

function ended(action: string, cause: unknown): Error {
  const message = `Cannot ${action} as the executor has ended: one of its threads failed (${(cause as Error).message})`
  return codedError('ERR_WASM_ENDED', message, { cause })
}

interface Owned {
  readonly free: Free
  readonly address: Address
  /** An owner of memory that the object refers to: it must not be collected before. */
  readonly keeps?: object | undefined
}

/**
 * The memory of one instance of the module. Tensors stay in arrays of JavaScript: a call copies its operands here and its
 * results back ({@link CallFrame}). Between calls it holds parameters, copied once for each version
 * ({@link ResidentArrays}), and objects of the kernels, freed when their owner in JavaScript is released or collected.
 */
export class WasmHeap implements HeapMemory {
  readonly dtype: FloatDType
  readonly resident: ResidentArrays
  readonly #frame: CallFrame
  readonly #stackPointer: number
  readonly #collected = new FinalizationRegistry<Owned>((owned) => this.#free(owned))
  readonly #stopThreads: () => void
  #exports: WasmExports | undefined
  #floats: FloatArray
  /** The error that ended the executor. */
  #failure: unknown

  constructor(instance: WasmInstance, dtype: FloatDType) {
    const { exports, threads, stop } = instance
    this.dtype = dtype
    this.#exports = exports
    this.#stopThreads = stop
    // Workers live until they are terminated, and with them the memory.
    abandoned.register(this, stop, this)
    this.#stackPointer = exports.__stack_pointer.value as number
    this.#floats = this.#viewOf(exports.memory)
    this.#frame = new CallFrame(this)
    this.resident = new ResidentArrays(this)
    const sleeps = threads > 1 && maySleep(exports.memory)
    this.guard('open the wasm backend', () => exports.open(threads, Number(sleeps)))
  }

  /** Throws once the heap is closed, which no caller of an open backend sees. */
  get exports(): WasmExports {
    if (this.#exports !== undefined) return this.#exports
    if (this.#failure !== undefined) throw ended('compute', this.#failure)
    throw codedRangeError('ERR_BACKEND_DISPOSED', 'Cannot compute as the backend was disposed')
  }

  /** All elements of the memory. A separate view for every size: the memory's buffer is another one when it has grown. */
  get floats(): FloatArray {
    const { memory } = this.exports
    if (this.#floats.buffer !== memory.buffer) this.#floats = this.#viewOf(memory)
    return this.#floats
  }

  /**
   * Runs `body`, which calls exports with addresses of operands that it takes from the frame, and copies results back.
   *
   * @throws RangeError `ERR_OUT_OF_MEMORY`; Error `ERR_WASM_OPERATION`
   */
  call<Result>(action: string, body: (frame: CallFrame, exports: WasmExports) => Result): Result {
    return this.guard(action, () => {
      try {
        const result = body(this.#frame, this.exports)
        this.#frame.copyBack()
        return result
      } finally {
        this.#frame.end()
      }
    })
  }

  /** Runs `body`, which calls exports. Throws as {@link call}. */
  guard<Result>(action: string, body: () => Result): Result {
    return allocating(action, () => {
      try {
        return body()
      } catch (error) {
        throw this.#explained(action, error)
      }
    })
  }

  /** Address of the kernels' parameters: a copy that is kept, or without a version one of this call. Before other operands. */
  paramsAddress(frame: CallFrame, params: FloatArray, version: number | undefined): Address {
    return version === undefined ? frame.read(params) : this.resident.addressOf(params, version)
  }

  /** Memory for `bytes` bytes, aligned to a cache line. Throws RangeError "out of memory". */
  allocate(bytes: number): Address {
    const { exports } = this
    let address = exports.allocate(bytes)
    // Copies of parameters can be made again.
    if (address === 0 && this.resident.evict()) address = exports.allocate(bytes)
    if (address === 0) throw new RangeError('out of memory')
    // Addresses above 2 GiB come as negative numbers.
    return address >>> 0
  }

  release(address: Address): void {
    this.#exports?.release(address)
  }

  /** Frees the object at `address` when `owner` is collected, unless it is {@link free}d before; `keeps` lives as long. */
  own(owner: object, free: Free, address: Address, keeps?: object): void {
    this.#collected.register(owner, { free, address, keeps }, owner)
  }

  free(owner: object, free: Free, address: Address): void {
    this.#collected.unregister(owner)
    this.#free({ free, address })
  }

  /** Ends the threads and lets go of the instance, and with it of all its memory. */
  close(): void {
    abandoned.unregister(this)
    this.#stopThreads()
    this.#exports = undefined
    this.#floats = this.dtype === 'float64' ? new Float64Array(0) : new Float32Array(0)
  }

  #free({ free, address }: Owned): void {
    this.#exports?.[free](address)
  }

  #viewOf({ buffer }: WebAssembly.Memory): FloatArray {
    return this.dtype === 'float64' ? new Float64Array(buffer) : new Float32Array(buffer)
  }

  /** The error to throw for `error`: a trap becomes an error of memory, or one with a code. */
  #explained(action: string, error: unknown): unknown {
    if (!(error instanceof WebAssembly.RuntimeError) || this.#exports === undefined) return error
    // The functions that trapped have not put it back.
    this.#exports.__stack_pointer.value = this.#stackPointer
    const isOutOfMemory = this.#exports.takeOutOfMemory() !== 0
    if (this.#exports.isInterrupted() !== 0) {
      this.#failure = isOutOfMemory ? new RangeError('out of memory', { cause: error }) : error
      this.close()
      return ended(action, this.#failure)
    }
    if (isOutOfMemory) return new RangeError('out of memory')
    const message = `Cannot ${action} as the kernels trapped: ${error.message}`
    return codedError('ERR_WASM_OPERATION', message, { cause: error })
  }
}

/** Copies that are kept, and their bytes: beyond, those that were used least recently are freed. */
const MOST_COPIES = 256
const MOST_BYTES = 2 ** 29

interface Copy {
  readonly address: Address
  readonly bytes: number
  version: number
}

/**
 * Copies of arrays in the memory of the module, which are made again when an array has another version. Steps of a stream and
 * passes over short sequences read parameters that are many times larger than their other operands.
 */
class ResidentArrays {
  readonly #heap: HeapMemory
  readonly #copies = new WeakMap<FloatArray, Copy>()
  /** By their last use, the latest at the end. */
  readonly #order = new Set<Copy>()
  readonly #collected = new FinalizationRegistry<Copy>((copy) => this.#free(copy))
  #bytes = 0

  constructor(heap: HeapMemory) {
    this.#heap = heap
  }

  /** The address of a copy of `array` in its `version`; valid until the next call for another array. */
  addressOf(array: FloatArray, version: number): Address {
    let copy = this.#copies.get(array)
    if (copy !== undefined && this.#order.has(copy)) {
      this.#order.delete(copy)
      this.#order.add(copy)
      if (copy.version === version) return copy.address
    } else {
      const bytes = array.byteLength
      copy = { address: this.#heap.allocate(bytes), bytes, version }
      this.#copies.set(array, copy)
      this.#collected.register(array, copy)
      this.#order.add(copy)
      this.#bytes += bytes
      for (const oldest of this.#order) {
        if (oldest === copy || (this.#order.size <= MOST_COPIES && this.#bytes <= MOST_BYTES)) break
        this.#free(oldest)
      }
    }
    this.#heap.floats.set(array, copy.address / array.BYTES_PER_ELEMENT)
    copy.version = version
    return copy.address
  }

  /** Frees all copies but the one that was used last; false if there was no other. */
  evict(): boolean {
    const others = [...this.#order].slice(0, -1)
    for (const copy of others) this.#free(copy)
    return others.length > 0
  }

  #free(copy: Copy): void {
    if (!this.#order.delete(copy)) return
    this.#bytes -= copy.bytes
    this.#heap.release(copy.address)
  }
}
