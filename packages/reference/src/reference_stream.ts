import { type FloatArray, hiddenColumns, outputSize } from '@cudnn-rnn/canonical'
import { copyRow, type StreamKernel } from '@cudnn-rnn/ops/executor'
import { clipInitialCells, storedCellClip } from './cell_clip.js'
import { layerForward } from './layer_forward.js'
import type { PreparedNetwork } from './layer_params.js'
import { timeOrder } from './time_order.js'

/** The carried state of one layer. */
interface LayerState {
  /** [B, P or H] */
  readonly hidden: FloatArray
  /** [B, H]; empty except for LSTM. */
  readonly cell: FloatArray
}

/**
 * A stream of a unidirectional network: sequences of one step, whose buffers are made once. Every batch row is also a
 * stream of one row over views of the same states: single rows step by the same code and copy nothing.
 */
export class ReferenceStream implements StreamKernel {
  readonly #network: PreparedNetwork
  readonly #params: FloatArray
  readonly #batch: number
  readonly #input: FloatArray
  readonly #states: readonly LayerState[]
  readonly #last: FloatArray
  readonly #step: readonly (() => void)[]
  /** The step of single rows, made when a row is first stepped alone. */
  readonly #rowSteps: (readonly (() => void)[] | undefined)[] = []

  constructor(network: PreparedNetwork, params: FloatArray, batch: number) {
    const { descriptor, memory, layers } = network
    this.#network = network
    this.#params = params
    this.#batch = batch
    this.#input = memory.allocate(batch * descriptor.inputSize)
    this.#states = layers.map(() => ({
      hidden: memory.allocate(batch * hiddenColumns(descriptor)),
      cell: memory.allocate(descriptor.cellMode === 'lstm' ? batch * descriptor.numUnits : 0),
    }))
    this.#last = this.#states[layers.length - 1].hidden
    this.#step = this.#stepOf(this.#input, this.#states, batch)
  }

  step(input: FloatArray, output: FloatArray, steps: number): void {
    const last = this.#last
    for (let t = 0; t < steps; t++) {
      copyRow(this.#input, 0, input, t * this.#input.length, this.#input.length)
      for (const layer of this.#step) layer()
      copyRow(output, t * last.length, last, 0, last.length)
    }
  }

  stepRows(rows: Int32Array, count: number, input: FloatArray, output: FloatArray): void {
    const { inputSize } = this.#network.descriptor
    const columns = hiddenColumns(this.#network.descriptor)
    for (let index = 0; index < count; index++) {
      const row = rows[index]
      copyRow(this.#input, row * inputSize, input, index * inputSize, inputSize)
      this.#rowSteps[row] ??= this.#stepOfRow(row)
      for (const layer of this.#rowSteps[row]) layer()
      copyRow(output, index * columns, this.#last, row * columns, columns)
    }
  }

  resetRow(row: number): void {
    for (const { hidden, cell } of this.#states) {
      for (const state of [hidden, cell]) this.#rowOf(state, row).fill(0)
    }
  }

  moveState(h: FloatArray, c: FloatArray | null, restoring: boolean, rows: Int32Array | null, count: number): void {
    const { descriptor, memory } = this.#network
    for (const [layer, { hidden, cell }] of this.#states.entries()) {
      for (let index = 0; index < count; index++) {
        for (const [live, all] of [[hidden, h] as const, [cell, c] as const]) {
          if (all === null) continue
          const own = this.#rowOf(live, rows === null ? index : rows[index])
          const begin = (layer * count + index) * own.length
          if (restoring) copyRow(own, 0, all, begin, own.length)
          else copyRow(all, begin, own, 0, own.length)
        }
      }
      if (restoring && c !== null) clipInitialCells(cell, storedCellClip(descriptor, memory.allocate))
    }
  }

  /** One step of `batch` rows through all layers, from their live input to their live states. */
  #stepOf(input: FloatArray, states: readonly LayerState[], batch: number): readonly (() => void)[] {
    const { descriptor, layers, memory } = this.#network
    const passes = { descriptor, flat: this.#params, order: timeOrder(0, 1, null), time: 1, batch }
    return layers.map((params, layer) =>
      layerForward({
        ...{ ...passes, params, pseudoLayer: layer, outputColumns: outputSize(descriptor), outputColumn: 0 },
        ...{ ...states[layer], input: states[layer - 1]?.hidden ?? input, output: states[layer].hidden },
        ...{ record: undefined, allocate: memory.allocate },
      }),
    )
  }

  #stepOfRow(row: number): readonly (() => void)[] {
    const states = this.#states.map(({ hidden, cell }) => ({
      ...{ hidden: this.#rowOf(hidden, row), cell: this.#rowOf(cell, row) },
    }))
    return this.#stepOf(this.#rowOf(this.#input, row), states, 1)
  }

  /** A view of one row of B. */
  #rowOf(array: FloatArray, row: number): FloatArray {
    const length = array.length / this.#batch
    return array.subarray(row * length, (row + 1) * length)
  }
}
