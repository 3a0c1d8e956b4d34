import { type FloatArray, hiddenColumns, type RnnDescriptor } from '@cudnn-rnn/canonical'
import type { StreamKernel } from '@cudnn-rnn/executor-kit'
import { addProduct, copyRow, fillRows, matrix, transposed } from '@cudnn-rnn/executor-kit'
import { storedCellClip } from './cell_clip.js'
import { CELL_STEPS } from './cell_steps.js'
import { computeInputSide, prepareInputSide } from './input_side.js'
import { gateRows, type LayerParams, layerMatrices } from './layer_params.js'
import type { PreparedNetwork } from './prepared_network.js'

/** A stream of a unidirectional network; all buffers are made once. */
export class ReferenceStream implements StreamKernel {
  readonly #descriptor: RnnDescriptor
  readonly #batch: number
  readonly #input: FloatArray
  readonly #layers: ReturnType<typeof createLayer>[] = []

  constructor({ descriptor, memory, layers }: PreparedNetwork, params: FloatArray, batch: number) {
    this.#descriptor = descriptor
    this.#batch = batch
    this.#input = memory.allocate(batch * descriptor.inputSize)
    let input = this.#input
    for (const layerParams of layers) {
      const layer = createLayer(descriptor, layerParams, params, input, batch, memory.allocate)
      this.#layers.push(layer)
      input = layer.hidden
    }
  }

  step(input: FloatArray, output: FloatArray, steps: number): void {
    for (let t = 0; t < steps; t++) {
      copyRow(this.#input, 0, input, t * this.#input.length, this.#input.length)
      const last = this.#step()
      copyRow(output, t * last.length, last, 0, last.length)
    }
  }

  resetRow(row: number): void {
    const units = this.#descriptor.numUnits
    const columns = hiddenColumns(this.#descriptor)
    for (const { hidden, cell } of this.#layers) {
      hidden.fill(0, row * columns, (row + 1) * columns)
      cell.fill(0, row * units, (row + 1) * units)
    }
  }

  moveState(h: FloatArray, c: FloatArray | null, restoring: boolean): void {
    for (const [layer, { hidden, cell }] of this.#layers.entries()) {
      move(hidden, h, layer * hidden.length, restoring)
      if (c !== null) move(cell, c, layer * cell.length, restoring)
    }
  }

  /** One step of the batch in `#input` through all layers; returns the last layer's live state [B,·]. */
  #step(): FloatArray {
    const batch = this.#batch
    const units = this.#descriptor.numUnits
    const columns = hiddenColumns(this.#descriptor)
    const gates = gateRows(this.#descriptor)
    let output = this.#input
    for (const layer of this.#layers) {
      computeInputSide(layer.inputSide)
      fillRows(layer.buffers.recurrentSide, batch, gates, layer.inputSide.flat, layer.recurrentBias)
      addProduct(layer.recurrentView, layer.hiddenView, layer.recurrentT, batch, gates, columns)
      for (let b = 0; b < batch; b++) layer.step.forward(layer.buffers, b, 0, b)
      if (layer.projectionT !== undefined) {
        layer.hidden.fill(0)
        addProduct(layer.hiddenView, layer.unprojectedView, layer.projectionT, batch, columns, units)
      }
      output = layer.hidden
    }
    return output
  }
}

/** Copies the live state of a layer to its place in `all`, or with `restoring` from there. */
function move(live: FloatArray, all: FloatArray, offset: number, restoring: boolean): void {
  if (restoring) copyRow(live, 0, all, offset, live.length)
  else copyRow(all, offset, live, 0, live.length)
}

/** The buffers and views of one layer of a stream. */
function createLayer(
  descriptor: RnnDescriptor,
  params: LayerParams,
  flat: FloatArray,
  input: FloatArray,
  batch: number,
  allocate: (length: number) => FloatArray,
) {
  const units = descriptor.numUnits
  const columns = hiddenColumns(descriptor)
  const gates = gateRows(descriptor)
  const step = CELL_STEPS[descriptor.cellMode]
  const { recurrent, projection } = layerMatrices(descriptor, params, flat)
  const hidden = allocate(batch * columns)
  const cell = allocate(descriptor.cellMode === 'lstm' ? batch * units : 0)
  const unprojected = projection === undefined ? hidden : allocate(batch * units)
  const buffers = {
    units,
    cellClip: storedCellClip(descriptor, allocate),
    inputSide: allocate(batch * gates),
    recurrentSide: allocate(batch * gates),
    cell,
    hidden: unprojected,
    saved: allocate(step.savedPerUnit * units),
  }
  return {
    inputSide: prepareInputSide(descriptor, params, flat, input, batch, buffers.inputSide),
    recurrentBias: params.recurrentBias,
    step,
    hidden,
    cell,
    buffers,
    hiddenView: matrix(hidden, columns),
    unprojectedView: matrix(unprojected, units),
    recurrentView: matrix(buffers.recurrentSide, gates),
    recurrentT: transposed(recurrent),
    projectionT: projection && transposed(projection),
  }
}
