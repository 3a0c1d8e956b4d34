import {
  type CanonicalParams,
  type CellActivation,
  type CellMode,
  createRnnDescriptor,
  type FloatArray,
  GATE_ORDERS,
  type RnnDescriptor,
  tensorflowToCanonical,
} from '@cudnn-rnn/canonical'
import { required } from '@cudnn-rnn/canonical/rules'
import {
  BasicRNNCell,
  type CellState,
  CudnnCompatibleGRUCell,
  GRUBlockCell,
  LSTMBlockCell,
  LSTMCell,
  type RNNCell,
} from '@cudnn-rnn/cells'
import { CellLayer } from './kinds/cell_layer.js'
import { noExport } from './export_error.js'
import { readVariables } from './keras/keras_layers.js'
import type { Floats } from './keras/keras_row.js'
import type { Layer } from './layer.js'
import { RecurrentLayer } from './kinds/recurrent.js'

/** A recurrent layer as other formats have it. */
export interface ExportedNetwork {
  readonly descriptor: RnnDescriptor
  readonly canonical: CanonicalParams<FloatArray>
  /** A GRU that resets before the product. */
  readonly resetBefore: boolean
  /** The candidate's activation. */
  readonly activation: CellActivation
  /** The gates' activation. */
  readonly recurrentActivation: CellActivation
}

export function isRecurrent(layer: Layer | undefined): layer is RecurrentLayer | CellLayer {
  return layer instanceof RecurrentLayer || (layer instanceof CellLayer && layer.kind === 'rnn')
}

/** The network of a layer. Throws RangeError `ERR_NO_EXPORT` for a clip, and for cells of other forms than the models'. */
export async function exportedNetwork(format: string, layer: RecurrentLayer | CellLayer): Promise<ExportedNetwork> {
  if (layer instanceof CellLayer) return networkOfCell(format, layer)
  const { name, model, variables } = layer
  const { descriptor, rnnMode } = model
  if (descriptor.cellClip !== undefined) throw noExport(format, { name, kind: `${rnnMode} with cellClip` })
  const canonical = (await model.paramsToCanonical(variables[0])) as CanonicalParams<FloatArray>
  const activation = descriptor.cellMode === 'rnn_relu' ? 'relu' : 'tanh'
  return { descriptor, canonical, resetBefore: false, activation, recurrentActivation: 'sigmoid' }
}

type Rule = Pick<ExportedNetwork, 'activation' | 'recurrentActivation'> & {
  readonly cellMode: CellMode
  readonly forgetBias?: number
}

/** The function of a cell; undefined if the models have nothing of its form. */
function ruleOf(cell: RNNCell<CellState>): Rule | undefined {
  if (cell instanceof LSTMBlockCell || cell instanceof LSTMCell) {
    const { usePeepholes, numProj, cellClip, preactivationClip, stateActivation, ...rule } = cell.rule
    const isPlain =
      !usePeepholes && numProj === null && Math.min(cellClip, preactivationClip) === Number.POSITIVE_INFINITY
    const isOne = JSON.stringify(stateActivation) === JSON.stringify(rule.activation)
    return isPlain && isOne ? { cellMode: 'lstm', ...rule } : undefined
  }
  const isPlain = (cell as { preactivationClip?: number }).preactivationClip === Number.POSITIVE_INFINITY
  if (!isPlain) return undefined
  if (cell instanceof BasicRNNCell) {
    const { activation } = cell
    return { cellMode: activation === 'relu' ? 'rnn_relu' : 'rnn_tanh', activation, recurrentActivation: 'sigmoid' }
  }
  const isGru = cell instanceof GRUBlockCell || cell instanceof CudnnCompatibleGRUCell
  return isGru
    ? { cellMode: 'gru', activation: cell.activation, recurrentActivation: cell.recurrentActivation }
    : undefined
}

async function networkOfCell(format: string, layer: CellLayer): Promise<ExportedNetwork> {
  const { cell } = layer
  const rule = ruleOf(cell)
  if (rule === undefined) throw noExport(format, layer)
  const { cellMode, forgetBias = 0, activation, recurrentActivation } = rule
  const inputSize = required(cell.inputSize, 'the cell of a layer is built')
  const size = { numLayers: 1, numUnits: cell.outputSize, inputSize }
  const descriptor = createRnnDescriptor({ cellMode, inputMode: 'linear_input', ...size })
  const read = await readVariables(layer)
  let tensors = Object.fromEntries([...cell.variables.keys()].map((name, k) => [name, read[k]]))
  const resetBefore = cell instanceof GRUBlockCell
  if (resetBefore) tensors = resetAfter(tensors, inputSize)
  if (forgetBias !== 0) {
    const { bias } = tensors
    const begin = GATE_ORDERS.tensorflow.lstm.indexOf('forget') * cell.outputSize
    for (let k = begin; k < begin + cell.outputSize; k++) bias.data[k] += forgetBias
  }
  const canonical = tensorflowToCanonical(descriptor, [tensors])
  return { descriptor, canonical, resetBefore, activation, recurrentActivation }
}

/** The variables of a GRU that resets before the product, as one that does it after has them. */
function resetAfter(tensors: Readonly<Record<string, Floats>>, inputSize: number): Record<string, Floats> {
  const { w_ru, b_ru, w_c, b_c } = tensors
  const [rows, units] = w_c.shape as readonly [number, number]
  const part = (begin: number, end: number) => ({
    data: w_c.data.slice(begin * units, end * units),
    shape: [end - begin, units],
  })
  return {
    'gates/kernel': w_ru,
    'gates/bias': b_ru,
    'candidate/input_projection/kernel': part(0, inputSize),
    'candidate/input_projection/bias': b_c,
    'candidate/hidden_projection/kernel': part(inputSize, rows),
    'candidate/hidden_projection/bias': { data: w_c.data.slice(0, units).fill(0), shape: [units] },
  }
}
