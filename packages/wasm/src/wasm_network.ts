import { flatLayout, gatesOf, type RnnDescriptor } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { KernelNetwork } from '@cudnn-rnn/ops/executor'
import type { Address } from './wasm_exports.js'
import type { WasmHeap } from './wasm_heap.js'

/** Cell modes in the order of `Cell` in native/cpu/src/weights/network.h. */
const CELLS: readonly RnnDescriptor['cellMode'][] = ['lstm', 'gru', 'rnn_relu', 'rnn_tanh']

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
    const {
      biasMode,
      cellClip,
      cellMode,
      direction,
      dropout,
      inputMode,
      inputSize,
      numLayers,
      numProj,
      numUnits,
      seed,
    } = descriptor
    const numbers = [
      ...[CELLS.indexOf(cellMode), numLayers, direction === 'bidirectional' ? 2 : 1, numUnits, inputSize, numProj ?? 0],
      Number(inputMode === 'skip_input'),
      Number(biasMode === 'double' || biasMode === 'single_input'),
      Number(biasMode === 'double' || biasMode === 'single_recurrent'),
      ...[cellClip ?? Number.POSITIVE_INFINITY, dropout, seed],
    ]
    this.address = heap.call('prepare a network', (frame, exports) =>
      exports.networkNew(frame.read(Float64Array.from(numbers))),
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
