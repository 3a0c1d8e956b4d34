import type { FloatDType } from '@cudnn-rnn/ops'
import { HostMemory } from '@cudnn-rnn/ops/executor'
import type { WasmHeap } from './wasm_heap.js'

/** The memory of tensors, beside the heap of the module; without a queue, as calls return when their operation is done. */
export class WasmMemory extends HostMemory {
  readonly #heap: WasmHeap

  constructor(dtype: FloatDType, heap: WasmHeap) {
    super(dtype)
    this.#heap = heap
  }

  /** Closes the heap. */
  override dispose(): void {
    if (this.life.ended) return
    super.dispose()
    this.#heap.close()
  }
}
