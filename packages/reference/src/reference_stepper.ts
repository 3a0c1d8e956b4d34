import {
  checkIsTensor,
  checkTensor,
  isBackendTensor,
  type RnnStepper,
  type RnnStreamState,
  type TensorLike,
} from '@cudnn-rnn/backend'
import { codedRangeError, type FloatArray, hiddenColumns, type RnnDescriptor, type Tensor } from '@cudnn-rnn/canonical'
import { storedCellClip } from './cell_clip.js'
import { CELL_STEPS } from './cell_steps.js'
import { computeInputSide, prepareInputSide } from './input_side.js'
import { gateRows, type LayerParams, layerMatrices } from './layer_params.js'
import { addProduct, matrix, transposed } from './matrix_product.js'
import type { PreparedNetwork } from './prepared_network.js'
import { copyRow, fillRows } from './rows.js'

/** Inference of a unidirectional network one time step at a time; all buffers are made once. */
export class ReferenceStepper implements RnnStepper {
  readonly batch: number
  readonly #network: PreparedNetwork
  readonly #params: TensorLike
  readonly #input: FloatArray
  readonly #layers: ReturnType<typeof createLayer>[] = []
  #disposed = false

  /** Throws RangeError `ERR_BIDIRECTIONAL_STREAM`, `ERR_INVALID_OPTION` for a batch that is not an integer ≥ 1. */
  constructor(network: PreparedNetwork, params: TensorLike, batch: number) {
    const flat = network.params('open a stream', params)
    const { descriptor, memory } = network
    if (descriptor.direction === 'bidirectional') {
      throw codedRangeError(
        'ERR_BIDIRECTIONAL_STREAM',
        'Cannot open a stream as a bidirectional network needs the whole sequence: use call() on it.',
      )
    }
    if (!Number.isSafeInteger(batch) || batch < 1) {
      throw codedRangeError(
        'ERR_INVALID_OPTION',
        `Cannot open a stream as batch must be an integer >= 1: current value is ${batch}`,
        { option: 'batch', value: batch },
      )
    }
    this.#network = network
    this.#params = params
    this.batch = batch
    this.#input = memory.allocate(batch * descriptor.inputSize)
    let input = this.#input
    for (const layerParams of network.layers) {
      const layer = createLayer(descriptor, layerParams, flat, input, batch, memory.allocate)
      this.#layers.push(layer)
      input = layer.hidden
    }
    memory.ledger.add('steppers')
  }

  stepSync(input: Tensor, out?: Tensor): Tensor {
    const action = 'step a stream'
    this.#checkAlive(action)
    this.#network.checkAlive(action)
    const { descriptor, memory } = this.#network
    const columns = hiddenColumns(descriptor)
    const steps = input.shape.length === 3 ? input.shape[0]! : 1
    if (!this.#fits(input, descriptor.inputSize, steps)) this.#refuse('input', input, input, descriptor.inputSize)
    if (out !== undefined && !(this.#fits(out, columns, steps) && out.shape.length === input.shape.length)) {
      this.#refuse('out', out, input, columns)
    }
    if (isBackendTensor(this.#params) && this.#params.disposed) checkIsTensor(action, 'params', this.#params)
    const result = out ?? {
      data: memory.allocate(steps * this.batch * columns),
      shape: [...input.shape.slice(0, -1), columns],
    }
    for (let t = 0; t < steps; t++) {
      copyRow(this.#input, 0, input.data as FloatArray, t * this.#input.length, this.#input.length)
      const output = this.#step()
      copyRow(result.data as FloatArray, t * output.length, output, 0, output.length)
    }
    return result
  }

  reset(rows?: readonly number[]): void {
    this.#checkAlive('reset a stream')
    const { descriptor } = this.#network
    const columns = hiddenColumns(descriptor)
    for (const row of rows ?? []) {
      if (Number.isInteger(row) && row >= 0 && row < this.batch) continue
      throw codedRangeError(
        'ERR_STREAM_ROW',
        `Cannot reset a stream as rows must be in 0..${this.batch - 1}: current value is ${row}`,
        { row },
      )
    }
    for (const row of rows ?? Array.from({ length: this.batch }, (_, row) => row)) {
      for (const { hidden, cell } of this.#layers) {
        hidden.fill(0, row * columns, (row + 1) * columns)
        cell.fill(0, row * descriptor.numUnits, (row + 1) * descriptor.numUnits)
      }
    }
  }

  state(): RnnStreamState {
    this.#checkAlive('read the state of a stream')
    const { descriptor, memory } = this.#network
    const gather = (part: 'hidden' | 'cell', columns: number): Tensor => {
      const length = this.batch * columns
      const data = memory.allocate(this.#layers.length * length)
      for (const [layer, buffers] of this.#layers.entries()) data.set(buffers[part], layer * length)
      return { data, shape: [this.#layers.length, this.batch, columns] }
    }
    return {
      h: gather('hidden', hiddenColumns(descriptor)),
      c: descriptor.cellMode === 'lstm' ? gather('cell', descriptor.numUnits) : undefined,
    }
  }

  restore(state: RnnStreamState): void {
    const action = 'restore the state of a stream'
    this.#checkAlive(action)
    const { descriptor, memory } = this.#network
    const shape = (columns: number) => [this.#layers.length, this.batch, columns]
    checkTensor(action, 'h', state.h, {
      dtype: memory.dtype,
      shape: shape(hiddenColumns(descriptor)),
    })
    if (descriptor.cellMode === 'lstm') {
      checkTensor(action, 'c', state.c as Tensor, {
        dtype: memory.dtype,
        shape: shape(descriptor.numUnits),
      })
    }
    for (const [layer, { hidden, cell }] of this.#layers.entries()) {
      copyRow(hidden, 0, state.h.data as FloatArray, layer * hidden.length, hidden.length)
      if (state.c !== undefined) copyRow(cell, 0, state.c.data as FloatArray, layer * cell.length, cell.length)
    }
  }

  dispose(): void {
    if (this.#disposed) return
    this.#disposed = true
    this.#network.memory.ledger.remove('steppers')
  }

  /** One step of the batch in `#input` through all layers; returns the last layer's live state [B,·]. */
  #step(): FloatArray {
    const { batch } = this
    const units = this.#network.descriptor.numUnits
    const columns = hiddenColumns(this.#network.descriptor)
    const gates = gateRows(this.#network.descriptor)
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

  /** The check of the fast path: allocates nothing. */
  #fits({ data, shape }: Tensor, columns: number, steps: number): boolean {
    const rank = shape.length
    return (
      (rank === 2 || rank === 3) &&
      shape[rank - 2] === this.batch &&
      shape[rank - 1] === columns &&
      data.constructor === this.#input.constructor &&
      data.length === steps * this.batch * columns
    )
  }

  /** Throws what is wrong with a tensor that does not fit. */
  #refuse(name: string, tensor: Tensor, input: Tensor, columns: number): never {
    const shape = [...(input.shape.length === 3 ? [input.shape[0]] : []), this.batch, columns]
    checkTensor('step a stream', name, tensor, {
      dtype: this.#network.memory.dtype,
      shape,
    })
    throw new Error(`unreachable: ${name} was refused and then accepted`)
  }

  #checkAlive(action: string): void {
    if (this.#disposed) throw codedRangeError('ERR_STREAM_DISPOSED', `Cannot ${action} as it was disposed`)
    this.#network.memory.checkAlive(action)
  }
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
