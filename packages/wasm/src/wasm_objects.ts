import type { KernelTapeMemory } from '@cudnn-rnn/ops/executor'
import type { Address } from './wasm_exports.js'
import type { WasmHeap } from './wasm_heap.js'

/** Intermediate values of a training forward, in the memory of the module. */
export class WasmTape implements KernelTapeMemory {
  readonly #heap: WasmHeap
  #address: Address

  constructor(heap: WasmHeap) {
    this.#heap = heap
    this.#address = heap.guard('open a tape', () => heap.exports.tapeNew())
    heap.own(this, 'tapeFree', this.#address)
  }

  get address(): Address {
    return this.#address
  }

  get bytes(): number {
    return this.#heap.exports.tapeBytes(this.#address) >>> 0
  }

  release(): void {
    if (this.#address === 0) return
    this.#heap.free(this, 'tapeFree', this.#address)
    this.#address = 0
  }
}

/** A copy of a network's matrices in fewer bytes, in the memory of the module. */
export class WasmQuantizedWeights {
  readonly #heap: WasmHeap
  #address: Address = 0

  constructor(heap: WasmHeap) {
    this.#heap = heap
  }

  get address(): Address {
    return this.#address
  }

  /** Takes over the object at `address`. */
  fill(address: Address): void {
    this.#address = address
    this.#heap.own(this, 'quantizedFree', address)
  }
}
