import type { FloatArray } from '@cudnn-rnn/canonical'
import type { HeapMemory } from './heap_memory.js'
import type { Address } from './wasm_exports.js'

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
export class ResidentArrays {
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
