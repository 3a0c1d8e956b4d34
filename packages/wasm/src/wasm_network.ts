import { flatLayout, gatesOf, type RnnDescriptor } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { type KernelNetwork, networkNumbers } from '@cudnn-rnn/ops/executor'
import type { Address } from './wasm_exports.js'
import type { WasmHeap } from './wasm_heap.js'

/** Parameters whose copies, gradients and tape fit the 4 GiB that addresses of 32 bits reach. */
const MOST_PARAMS = 2 ** 28

/** A network in the memory of the module. */
export class WasmNetwork implements KernelNetwork {
  readonly address: Address
  readonly #heap: WasmHeap

  /** Throws RangeError `ERR_PARAMS_TOO_LARGE`. */
  constructor(heap: WasmHeap, descriptor: RnnDescriptor) {
    this.#heap = heap
    checkSize(descriptor)
    this.address = heap.call('prepare a network', (frame, exports) =>
      exports.networkNew(frame.read(networkNumbers(descriptor))),
    )
    heap.own(this, 'networkFree', this.address)
  }

  paramsSize(): number {
    return this.#heap.exports.networkParamsSize(this.address)
  }
}

function checkSize(descriptor: RnnDescriptor): void {
  const { size } = flatLayout(descriptor)
  if (size < MOST_PARAMS) return
  throw codedRangeError(
    'ERR_PARAMS_TOO_LARGE',
    `Cannot prepare a network as its parameters must be fewer than ${MOST_PARAMS} for the memory of WebAssembly: current value is ${size}, with ${gatesOf(descriptor.cellMode).length} gates`,
    { matrixElements: size },
  )
}
