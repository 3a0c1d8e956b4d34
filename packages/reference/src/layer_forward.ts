import { type FloatArray, hiddenColumns, type RnnDescriptor } from '@cudnn-rnn/canonical'
import { addProduct, copyRow, fillRows, matrix, transposed } from '@cudnn-rnn/ops/executor'
import { storedCellClip } from './cell_clip.js'
import { CELL_STEPS } from './cell_steps.js'
import { inputSide } from './input_side.js'
import { gateRows, layerMatrices, type LayerParams } from './layer_params.js'
import type { TimeOrder } from './time_order.js'

export interface LayerForward extends LayerPass {
  /** [T,B,in] */
  readonly input: FloatArray
  /** [T,B,outputColumns], zeros on entry; this direction writes P (or H) columns from `outputColumn` on. */
  readonly output: FloatArray
  /** [B, P or H]: the initial state on entry, the final state on return. */
  readonly hidden: FloatArray
  /** [B, H]: likewise (LSTM). */
  readonly cell: FloatArray
  /** Values for the backward; undefined in inference. */
  readonly record: LayerRecord | undefined
}

/** Values that a training forward of one layer and direction keeps for its backward. */
export interface LayerRecord {
  /** [T·B, savedPerUnit·H], see the cell's step. */
  readonly saved: FloatArray
  /** [T·B, P or H]: h before each step; zeros at steps past a row's end. */
  readonly previousHidden: FloatArray
  /** [T·B, H]: o∘tanh(c') before the projection; undefined without one. */
  readonly unprojected: FloatArray | undefined
}

export function createLayerRecord(
  descriptor: RnnDescriptor,
  rows: number,
  allocate: (length: number) => FloatArray,
): LayerRecord {
  const { numUnits, numProj, cellMode } = descriptor
  return {
    saved: allocate(rows * CELL_STEPS[cellMode].savedPerUnit * numUnits),
    previousHidden: allocate(rows * hiddenColumns(descriptor)),
    unprojected: numProj === undefined ? undefined : allocate(rows * numUnits),
  }
}

/**
 * Runs one layer in one direction, as TensorFlow's `LSTMBlockFusedCell` does: the input side W·x + b_W of the whole
 * sequence as one matrix product, then the recurrence step by step. Prepared once, as a stream runs it at each step; a run
 * allocates nothing.
 */
export function layerForward(pass: LayerForward): () => void {
  const { descriptor, params, flat, order, batch, input, output, hidden, cell, record, allocate } = pass
  const units = descriptor.numUnits
  const columns = hiddenColumns(descriptor)
  const gates = gateRows(descriptor)
  const step = CELL_STEPS[descriptor.cellMode]
  const { recurrent, projection } = layerMatrices(descriptor, params, flat)

  const ofInput = allocate(pass.time * batch * gates)
  const computeInputSide = inputSide(descriptor, params, flat, input, pass.time * batch, ofInput)

  const recurrentSide = allocate(batch * gates)
  const unprojected = projection === undefined ? hidden : allocate(batch * units)
  const buffers = {
    units,
    cellClip: storedCellClip(descriptor, allocate),
    inputSide: ofInput,
    recurrentSide,
    cell,
    hidden: unprojected,
    saved: record?.saved ?? allocate(step.savedPerUnit * units),
  }
  const h = matrix(hidden, columns)
  const recurrentT = transposed(recurrent)
  const preActivation = matrix(recurrentSide, gates)
  const projected = projection === undefined ? undefined : allocate(batch * columns)
  const projectedView = projected && matrix(projected, columns)
  const unprojectedView = matrix(unprojected, units)
  const projectionT = projection && transposed(projection)

  return () => {
    computeInputSide()
    for (let n = 0; n < order.steps; n++) {
      fillRows(recurrentSide, batch, gates, flat, params.recurrentBias)
      addProduct(preActivation, h, recurrentT, batch, gates, columns)
      for (let b = 0; b < batch; b++) {
        if (!order.isActive(n, b)) continue
        const row = order.timeOf(n, b) * batch + b
        if (record !== undefined) copyRow(record.previousHidden, row * columns, hidden, b * columns, columns)
        step.forward(buffers, row, record === undefined ? 0 : row, b)
        if (record?.unprojected !== undefined) copyRow(record.unprojected, row * units, unprojected, b * units, units)
      }
      if (projected !== undefined && projectedView !== undefined && projectionT !== undefined) {
        projected.fill(0)
        addProduct(projectedView, unprojectedView, projectionT, batch, columns, units)
      }
      for (let b = 0; b < batch; b++) {
        if (!order.isActive(n, b)) continue
        if (projected !== undefined) copyRow(hidden, b * columns, projected, b * columns, columns)
        const row = order.timeOf(n, b) * batch + b
        copyRow(output, row * pass.outputColumns + pass.outputColumn, hidden, b * columns, columns)
      }
    }
  }
}

export interface LayerPass {
  readonly descriptor: RnnDescriptor
  /** layer·D + direction */
  readonly pseudoLayer: number
  readonly params: LayerParams
  /** The opaque buffer. */
  readonly flat: FloatArray
  readonly order: TimeOrder
  /** T */
  readonly time: number
  /** B */
  readonly batch: number
  /** Columns of the layer's output, both directions side by side; this one's begin at `outputColumn`. */
  readonly outputColumns: number
  readonly outputColumn: number
  readonly allocate: (length: number) => FloatArray
}
