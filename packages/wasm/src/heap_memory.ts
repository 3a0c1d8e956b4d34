import type { FloatArray } from '@cudnn-rnn/canonical'
import type { Address, WasmExports } from './wasm_exports.js'

/** The memory of an instance, as its parts take it. */
export interface HeapMemory {
  readonly exports: WasmExports
  /** All elements of the memory, in the dtype of the instance. */
  readonly floats: FloatArray
  /** Memory for `bytes` bytes, aligned to a cache line. Throws RangeError "out of memory". */
  allocate(bytes: number): Address
  release(address: Address): void
}
