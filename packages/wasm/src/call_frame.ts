import { arrayTypeOf } from '@cudnn-rnn/canonical/rules'
import type { FloatArray } from '@cudnn-rnn/canonical'
import type { HeapMemory } from './heap_memory.js'
import type { Address } from './wasm_exports.js'

type Operand = FloatArray | Int32Array

const ARRAYS = { Float32Array, Float64Array, Int32Array }

const CACHE_LINE = 64
/** The first chunk, and the largest that is kept between calls. */
const LEAST_BYTES = 1 << 16
const KEPT_BYTES = 1 << 26

/** The operands of one call in the memory of the module, side by side in chunks that the next call uses again. */
export class CallFrame {
  readonly #heap: HeapMemory
  /** The start of the present chunk, its bytes, and how many are taken. */
  #chunk: Address = 0
  #bytes = 0
  #used = 0
  /** Chunks that were too small for this call, and bytes taken in all. */
  readonly #full: Address[] = []
  #total = 0
  readonly #results: { readonly array: Operand; readonly address: Address }[] = []

  constructor(heap: HeapMemory) {
    this.#heap = heap
  }

  /** A copy of `array`; 0 for null. */
  read(array: Operand | null): Address {
    if (array === null) return 0
    const address = this.place(array.byteLength)
    // The heap's own view of its floats: a new one takes longer than the copy of a short array.
    const { floats } = this.#heap
    if (arrayTypeOf(array) === arrayTypeOf(floats)) floats.set(array, address / floats.BYTES_PER_ELEMENT)
    else this.#elementsAt(array, address).set(array as never)
    return address
  }

  /** Like {@link read}, for an array that the call changes. */
  update(array: Operand | null): Address {
    if (array === null) return 0
    const address = this.read(array)
    this.#results.push({ array, address })
    return address
  }

  /** Room for an array that the call writes as a whole. */
  write(array: Operand | null): Address {
    if (array === null) return 0
    const address = this.place(array.byteLength)
    this.#results.push({ array, address })
    return address
  }

  /** Addresses, as the elements of an array of the module. */
  pointers(addresses: readonly Address[]): Address {
    return this.read(Int32Array.from(addresses))
  }

  /** Undefined bytes. */
  place(bytes: number): Address {
    const taken = Math.ceil(bytes / CACHE_LINE) * CACHE_LINE
    if (this.#used + taken > this.#bytes) {
      const size = Math.max(taken, LEAST_BYTES)
      const chunk = this.#heap.allocate(size)
      if (this.#bytes > 0) this.#full.push(this.#chunk)
      this.#chunk = chunk
      this.#bytes = size
      this.#used = 0
    }
    const address = this.#chunk + this.#used
    this.#used += taken
    this.#total += taken
    return address
  }

  /** Copies the results of the call to the arrays of JavaScript. */
  copyBack(): void {
    for (const { array, address } of this.#results) array.set(this.#elementsAt(array, address) as never)
  }

  /** Ends the call: one chunk is kept, large enough for the next such call. */
  end(): void {
    this.#results.length = 0
    const total = this.#total
    this.#total = this.#used = 0
    if (this.#full.length === 0 && this.#bytes <= KEPT_BYTES) return
    for (const address of this.#full.splice(0)) this.#heap.release(address)
    this.#heap.release(this.#chunk)
    this.#chunk = this.#bytes = 0
    if (total > KEPT_BYTES) return
    try {
      this.#chunk = this.#heap.allocate(total)
      this.#bytes = total
    } catch {
      // The next call allocates a chunk.
    }
  }

  /** The elements of `array`'s type and number at `address`. The memory may have grown since the address was taken. */
  #elementsAt(array: Operand, address: Address): Operand {
    const { buffer } = this.#heap.exports.memory
    const ArrayOf = ARRAYS[arrayTypeOf(array) as keyof typeof ARRAYS]
    return new ArrayOf(buffer, address, array.length)
  }
}
