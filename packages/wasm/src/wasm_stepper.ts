import type { FloatArray } from '@cudnn-rnn/canonical'
import type { KernelStepper } from '@cudnn-rnn/ops/executor'
import type { Address } from './wasm_exports.js'
import type { WasmHeap } from './wasm_heap.js'
import type { WasmNetwork } from './wasm_network.js'
import type { WasmQuantizedWeights } from './wasm_objects.js'

const STEP = 'step a stream'

/** A stream whose states live in the memory of the module. */
export class WasmStepper implements KernelStepper {
  readonly #heap: WasmHeap
  readonly #address: Address
  #version: number | undefined

  constructor(heap: WasmHeap, network: WasmNetwork, batch: number, format: number) {
    this.#heap = heap
    this.#address = heap.guard('open a stream', () => heap.exports.stepperNew(network.address, batch, format))
    heap.own(this, 'stepperFree', this.#address, network)
  }

  followParams(version: number | undefined): void {
    this.#version = version
  }

  step(
    params: FloatArray,
    input: FloatArray,
    output: FloatArray,
    steps: number,
    quantized?: WasmQuantizedWeights | null,
  ): void {
    this.#heap.call(STEP, (frame, exports) => {
      const read = this.#heap.paramsAddress(frame, params, this.#version)
      exports.step(this.#address, read, quantized?.address ?? 0, frame.read(input), frame.write(output), steps)
    })
  }

  stepRows(
    params: FloatArray,
    rows: Int32Array,
    count: number,
    input: FloatArray,
    output: FloatArray,
    quantized?: WasmQuantizedWeights | null,
  ): void {
    this.#heap.call(STEP, (frame, exports) => {
      const read = this.#heap.paramsAddress(frame, params, this.#version)
      const numbers = frame.read(rows.subarray(0, count))
      const [from, to] = [frame.read(input), frame.write(output)]
      exports.stepRows(this.#address, read, quantized?.address ?? 0, numbers, count, from, to)
    })
  }

  resetRow(row: number): void {
    this.#heap.exports.resetRow(this.#address, row)
  }

  moveState(h: FloatArray, c: FloatArray | null, into: boolean, rows: Int32Array | null, count: number): void {
    this.#heap.call('move the state of a stream', (frame, exports) => {
      const numbers = rows === null ? 0 : frame.read(rows.subarray(0, count))
      exports.moveState(this.#address, frame.update(h), frame.update(c), Number(into), numbers, count)
    })
  }
}
