import { type FloatArray, hiddenColumns, type RnnDescriptor } from '@cudnn-rnn/canonical'
import { addProduct, copyRow, fillRows, matrix, type StreamKernel, transposed } from '@cudnn-rnn/ops/executor'
import { clipInitialCells, storedCellClip } from './cell_clip.js'
import { CELL_STEPS } from './cell_steps.js'
import { computeInputSide, prepareInputSide } from './input_side.js'
import { gateRows, type LayerParams, layerMatrices } from './layer_params.js'
import type { PreparedNetwork } from './prepared_network.js'

/**
 * A stream of a unidirectional network; all buffers are made once. Every batch row is also a stream of one row over views
 * of the same memory: single rows step by the same code and copy nothing.
 */
export class ReferenceStream implements StreamKernel {
  readonly #network: PreparedNetwork
  readonly #params: FloatArray
  readonly #batch: number
  readonly #input: FloatArray
  readonly #layers: readonly Layer[]
  /** The layers of single rows, made when a row is first stepped alone. */
  readonly #rowLayers: (readonly Layer[] | undefined)[] = []

  constructor(network: PreparedNetwork, params: FloatArray, batch: number) {
    const { descriptor, memory, layers } = network
    this.#network = network
    this.#params = params
    this.#batch = batch
    this.#input = memory.allocate(batch * descriptor.inputSize)
    const buffers = layers.map(() => createBuffers(descriptor, batch, memory.allocate))
    this.#layers = createLayers(network, params, this.#input, batch, buffers)
  }

  step(input: FloatArray, output: FloatArray, steps: number): void {
    for (let t = 0; t < steps; t++) {
      copyRow(this.#input, 0, input, t * this.#input.length, this.#input.length)
      this.#step(this.#layers, this.#batch)
      const last = this.#layers[this.#layers.length - 1].hidden
      copyRow(output, t * last.length, last, 0, last.length)
    }
  }

  stepRows(rows: Int32Array, count: number, input: FloatArray, output: FloatArray): void {
    const { inputSize } = this.#network.descriptor
    const columns = hiddenColumns(this.#network.descriptor)
    const last = this.#layers[this.#layers.length - 1].hidden
    for (let index = 0; index < count; index++) {
      const row = rows[index]
      copyRow(this.#input, row * inputSize, input, index * inputSize, inputSize)
      this.#step(this.#layersOf(row), 1)
      copyRow(output, index * columns, last, row * columns, columns)
    }
  }

  resetRow(row: number): void {
    const units = this.#network.descriptor.numUnits
    const columns = hiddenColumns(this.#network.descriptor)
    for (const { hidden, cell } of this.#layers) {
      hidden.fill(0, row * columns, (row + 1) * columns)
      cell.fill(0, row * units, (row + 1) * units)
    }
  }

  moveState(h: FloatArray, c: FloatArray | null, restoring: boolean, rows: Int32Array | null, count: number): void {
    const units = this.#network.descriptor.numUnits
    const columns = hiddenColumns(this.#network.descriptor)
    for (const [layer, { hidden, cell, step }] of this.#layers.entries()) {
      for (let index = 0; index < count; index++) {
        const row = rows === null ? index : rows[index]
        move(hidden, row * columns, h, (layer * count + index) * columns, columns, restoring)
        if (c !== null) move(cell, row * units, c, (layer * count + index) * units, units, restoring)
      }
      if (restoring && c !== null) clipInitialCells(cell, step.cellClip)
    }
  }

  /** The layers over the memory of one batch row. */
  #layersOf(row: number): readonly Layer[] {
    const made = this.#rowLayers[row]
    if (made !== undefined) return made
    const { inputSize } = this.#network.descriptor
    const input = this.#input.subarray(row * inputSize, (row + 1) * inputSize)
    const buffers = this.#layers.map((layer) => rowOf(layer.buffers, row, this.#batch))
    const layers = createLayers(this.#network, this.#params, input, 1, buffers)
    this.#rowLayers[row] = layers
    return layers
  }

  /** One step of `batch` rows through all layers, from their live input to their live states. */
  #step(layers: readonly Layer[], batch: number): void {
    const { descriptor } = this.#network
    const units = descriptor.numUnits
    const columns = hiddenColumns(descriptor)
    const gates = gateRows(descriptor)
    for (const layer of layers) {
      computeInputSide(layer.inputSide)
      fillRows(layer.step.recurrentSide, batch, gates, layer.inputSide.flat, layer.recurrentBias)
      addProduct(layer.recurrentView, layer.hiddenView, layer.recurrentT, batch, gates, columns)
      for (let b = 0; b < batch; b++) layer.cellStep.forward(layer.step, b, 0, b)
      if (layer.projectionT !== undefined) {
        layer.hidden.fill(0)
        addProduct(layer.hiddenView, layer.unprojectedView, layer.projectionT, batch, columns, units)
      }
    }
  }
}

/** Copies elements of the live state of a layer to their place in `all`, or with `restoring` from there. */
function move(
  live: FloatArray,
  liveBegin: number,
  all: FloatArray,
  begin: number,
  count: number,
  restoring: boolean,
): void {
  if (restoring) copyRow(live, liveBegin, all, begin, count)
  else copyRow(all, begin, live, liveBegin, count)
}

/** The memory of one layer: B rows of each. */
interface LayerBuffers {
  /** [B, P or H] */
  readonly hidden: FloatArray
  /** [B, H]; empty except for LSTM. */
  readonly cell: FloatArray
  /** [B, H]: h before a projection; `hidden` itself without one. */
  readonly unprojected: FloatArray
  /** [B, G·H] */
  readonly inputSide: FloatArray
  /** [B, G·H] */
  readonly recurrentSide: FloatArray
  /** [savedPerUnit·H]: nothing is kept between rows. */
  readonly saved: FloatArray
}

function createBuffers(
  descriptor: RnnDescriptor,
  batch: number,
  allocate: (length: number) => FloatArray,
): LayerBuffers {
  const { numUnits, numProj, cellMode } = descriptor
  const hidden = allocate(batch * hiddenColumns(descriptor))
  return {
    hidden,
    cell: allocate(cellMode === 'lstm' ? batch * numUnits : 0),
    unprojected: numProj === undefined ? hidden : allocate(batch * numUnits),
    inputSide: allocate(batch * gateRows(descriptor)),
    recurrentSide: allocate(batch * gateRows(descriptor)),
    saved: allocate(CELL_STEPS[cellMode].savedPerUnit * numUnits),
  }
}

/** Views of one of `batch` rows. */
function rowOf(buffers: LayerBuffers, row: number, batch: number): LayerBuffers {
  const view = (array: FloatArray): FloatArray => {
    const length = array.length / batch
    return array.subarray(row * length, (row + 1) * length)
  }
  const hidden = view(buffers.hidden)
  return {
    hidden,
    cell: view(buffers.cell),
    unprojected: buffers.unprojected === buffers.hidden ? hidden : view(buffers.unprojected),
    inputSide: view(buffers.inputSide),
    recurrentSide: view(buffers.recurrentSide),
    saved: buffers.saved,
  }
}

type Layer = ReturnType<typeof createLayer>

/** The layers of `batch` rows, each of which reads the state of the one below. */
function createLayers(
  network: PreparedNetwork,
  params: FloatArray,
  input: FloatArray,
  batch: number,
  buffers: readonly LayerBuffers[],
): Layer[] {
  return network.layers.map((layerParams, index) =>
    createLayer(network, layerParams, params, buffers[index - 1]?.hidden ?? input, batch, buffers[index]),
  )
}

/** The views and the buffers of one layer of a stream. */
function createLayer(
  { descriptor, memory }: PreparedNetwork,
  params: LayerParams,
  flat: FloatArray,
  input: FloatArray,
  batch: number,
  buffers: LayerBuffers,
) {
  const units = descriptor.numUnits
  const columns = hiddenColumns(descriptor)
  const gates = gateRows(descriptor)
  const cellStep = CELL_STEPS[descriptor.cellMode]
  const { recurrent, projection } = layerMatrices(descriptor, params, flat)
  const { hidden, cell, unprojected, inputSide, recurrentSide, saved } = buffers
  const step = {
    units,
    cellClip: storedCellClip(descriptor, memory.allocate),
    inputSide,
    recurrentSide,
    cell,
    hidden: unprojected,
    saved,
  }
  return {
    buffers,
    inputSide: prepareInputSide(descriptor, params, flat, input, batch, inputSide),
    recurrentBias: params.recurrentBias,
    cellStep,
    step,
    hidden,
    hiddenView: matrix(hidden, columns),
    cell,
    unprojectedView: matrix(unprojected, units),
    recurrentView: matrix(recurrentSide, gates),
    recurrentT: transposed(recurrent),
    projectionT: projection && transposed(projection),
  }
}
