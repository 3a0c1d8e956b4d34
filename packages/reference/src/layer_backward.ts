import { type FloatArray, hiddenColumns } from '@cudnn-rnn/canonical'
import { addColumnSums, addProduct, addRow, copyRow, matrix, transposed } from '@cudnn-rnn/ops/executor'
import { storedCellClip } from './cell_clip.js'
import { CELL_STEPS } from './cell_steps.js'
import type { LayerPass, LayerRecord } from './layer_forward.js'
import { gateRows, layerMatrices } from './layer_params.js'

export interface LayerBackward extends LayerPass {
  readonly record: LayerRecord
  /** [T,B,in]: the input of the forward. */
  readonly input: FloatArray
  /** [T,B,outputColumns]: ∂L/∂output of both directions. */
  readonly outputGradient: FloatArray
  /** [B, P or H]: ∂L/∂(final h) on entry, ∂L/∂(initial h) on return. */
  readonly hiddenGradient: FloatArray
  /** [B, H]: likewise (LSTM). */
  readonly cellGradient: FloatArray
  /** [T,B,in]: this direction's share is added. */
  readonly inputGradient: FloatArray
  /** Opaque layout: the gradients of this pseudo-layer's regions are added. */
  readonly flatGradient: FloatArray
}

/**
 * Back-propagation through time of one layer and direction. The recurrence runs backwards step by step and leaves the
 * gradients of the pre-activations; everything else is large matrix products after the loop:
 *
 *     ∂x = ∂a_W·W     ∂W = ∂a_Wᵀ·x     ∂R = ∂a_Rᵀ·h_prev     ∂b = Σ ∂a     ∂Proj = ∂hᵀ·(o∘tanh c')
 */
export function runLayerBackward(pass: LayerBackward): void {
  const { descriptor, params, flat, order, batch, record, hiddenGradient, cellGradient, allocate } = pass
  const units = descriptor.numUnits
  const columns = hiddenColumns(descriptor)
  const gates = gateRows(descriptor)
  const rows = pass.time * batch
  const step = CELL_STEPS[descriptor.cellMode]
  const { recurrent, projection } = layerMatrices(descriptor, params, flat)

  const inputSideGradient = allocate(rows * gates)
  const recurrentSideGradient = step.sidesShareGradient ? inputSideGradient : allocate(rows * gates)
  const stepGradient = allocate(batch * gates)
  // With a projection: ∂L/∂h of every step and row [T·B, P], and ∂L/∂(h before the projection) of one step [B, H].
  const projectedGradient = projection === undefined ? undefined : allocate(rows * columns)
  const unprojectedGradient = projection === undefined ? hiddenGradient : allocate(batch * units)
  const buffers = {
    units,
    cellClip: storedCellClip(descriptor, allocate),
    saved: record.saved,
    previousHidden: record.previousHidden,
    hiddenGradient: unprojectedGradient,
    cellGradient,
    inputSideGradient,
    recurrentSideGradient: stepGradient,
  }
  const dh = matrix(hiddenGradient, columns)
  const unprojected = matrix(unprojectedGradient, units)
  const preActivation = matrix(stepGradient, gates)

  for (let n = order.steps - 1; n >= 0; n--) {
    for (let b = 0; b < batch; b++) {
      if (!order.isActive(n, b)) continue
      const row = order.timeOf(n, b) * batch + b
      addRow(hiddenGradient, b * columns, pass.outputGradient, row * pass.outputColumns + pass.outputColumn, columns)
      if (projectedGradient !== undefined) {
        copyRow(projectedGradient, row * columns, hiddenGradient, b * columns, columns)
      }
    }
    if (projection !== undefined) {
      unprojectedGradient.fill(0)
      addProduct(unprojected, dh, projection, batch, units, columns)
    }
    stepGradient.fill(0)
    for (let b = 0; b < batch; b++) {
      if (!order.isActive(n, b)) continue
      const row = order.timeOf(n, b) * batch + b
      step.backward(buffers, row, b)
      // An LSTM's h reaches the step before through R alone.
      if (projection !== undefined) hiddenGradient.fill(0, b * columns, (b + 1) * columns)
      if (!step.sidesShareGradient) copyRow(recurrentSideGradient, row * gates, stepGradient, b * gates, gates)
    }
    // Rows without a step keep theirs: a product of their zeros is NaN if a weight is not finite.
    const kept = order.isFull(n) ? undefined : hiddenGradient.slice()
    addProduct(dh, preActivation, recurrent, batch, columns, gates)
    for (let b = 0; kept !== undefined && b < batch; b++) {
      if (!order.isActive(n, b)) copyRow(hiddenGradient, b * columns, kept, b * columns, columns)
    }
  }

  addParameterGradients(pass, inputSideGradient, recurrentSideGradient, projectedGradient)
  addInputGradient(pass, inputSideGradient)
}

function addParameterGradients(
  { descriptor, params, input, record, flatGradient, time, batch }: LayerBackward,
  inputSideGradient: FloatArray,
  recurrentSideGradient: FloatArray,
  projectedGradient: FloatArray | undefined,
): void {
  const rows = time * batch
  const units = descriptor.numUnits
  const columns = hiddenColumns(descriptor)
  const gates = gateRows(descriptor)
  const gradient = layerMatrices(descriptor, params, flatGradient)
  if (gradient.input !== undefined) {
    const dx = transposed(matrix(inputSideGradient, gates))
    addProduct(gradient.input, dx, matrix(input, params.inputSize), gates, params.inputSize, rows)
  }
  const dq = transposed(matrix(recurrentSideGradient, gates))
  addProduct(gradient.recurrent, dq, matrix(record.previousHidden, columns), gates, columns, rows)
  if (gradient.projection !== undefined && projectedGradient !== undefined && record.unprojected !== undefined) {
    const dh = transposed(matrix(projectedGradient, columns))
    addProduct(gradient.projection, dh, matrix(record.unprojected, units), columns, units, rows)
  }
  if (params.inputBias !== undefined) {
    addColumnSums(flatGradient, params.inputBias, inputSideGradient, rows, gates)
  }
  if (params.recurrentBias !== undefined) {
    addColumnSums(flatGradient, params.recurrentBias, recurrentSideGradient, rows, gates)
  }
}

function addInputGradient(
  { descriptor, params, flat, inputGradient, time, batch }: LayerBackward,
  inputSideGradient: FloatArray,
): void {
  const rows = time * batch
  const gates = gateRows(descriptor)
  const { input: weights } = layerMatrices(descriptor, params, flat)
  if (weights !== undefined) {
    addProduct(
      matrix(inputGradient, params.inputSize),
      matrix(inputSideGradient, gates),
      weights,
      rows,
      params.inputSize,
      gates,
    )
    return
  }
  for (let row = 0; row < rows; row++) {
    for (let gate = 0; gate < gates; gate += descriptor.numUnits) {
      addRow(inputGradient, row * params.inputSize, inputSideGradient, row * gates + gate, params.inputSize)
    }
  }
}
