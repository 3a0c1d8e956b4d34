import {
  type CanonicalParams,
  type CellMode,
  canonicalToOnnx,
  type FloatArray,
  numDirections,
  numPseudoLayers,
  outputSize,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { WeightFileError } from '../errors.js'
import type { NetworkToExport } from '../network_to_export.js'
import { encodeOnnxModel, type GraphToWrite, type NodeToWrite, type OnnxElementType } from './onnx_encoder.js'

/** The first operator set whose recurrent operators have both layouts, and its file version. */
const OPSET = 14
const IR_VERSION = 7

type NodeParts = [
  opType: string,
  name: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes?: NodeToWrite['attributes'],
]

const OPERATORS: Readonly<Record<CellMode, string>> = { lstm: 'LSTM', gru: 'GRU', rnn_tanh: 'RNN', rnn_relu: 'RNN' }

/**
 * A network as an ONNX model: one recurrent node for each layer, between them nodes that join the
 * directions. Inputs `input` [T,B,I] (with an embedding: `ids` [T,B], int64), `initial_h` and, of an LSTM, `initial_c`
 * [L·D,B,H]; outputs `output` [T,B,D·H] (with a dense layer: `logits` [T,B,V]), `final_h` and `final_c`.
 *
 * @throws RangeError `ERR_UNSUPPORTED_BY_FRAMEWORK`; WeightFileError `ERR_WEIGHTS_UNSUPPORTED` for a cellClip
 */
export function encodeOnnxNetwork({
  descriptor,
  canonical,
  embedding,
  dense,
  ...network
}: NetworkToExport): Uint8Array {
  // ONNX insists on names.
  const name = network.name === '' ? 'rnn' : network.name
  checkSupported(descriptor)
  const { cellMode, numUnits: H, numLayers, inputSize } = descriptor
  const weights = canonicalToOnnx(descriptor, canonical as CanonicalParams<FloatArray>)
  const elementType: OnnxElementType = weights[0]?.['W']?.data instanceof Float64Array ? 'float64' : 'float32'
  const states = cellMode === 'lstm' ? ['h', 'c'] : ['h']
  const directions = numDirections(descriptor)
  const initializers: Record<string, Tensor<FloatArray> | readonly number[]> = {}
  const nodes: NodeToWrite[] = []
  const add = (...[opType, name, inputs, outputs, attributes]: NodeParts) =>
    nodes.push({ opType, name, inputs, outputs, ...(attributes && { attributes }) })
  let x = 'input'
  if (embedding !== undefined) {
    initializers['embedding'] = embedding
    add('Gather', 'embed', ['embedding', 'ids'], [x])
  }
  for (const state of states) {
    initializers['directions'] = Array.from({ length: numLayers }, () => directions)
    const outputs = weights.map((_, layer) => `initial_${state}_${layer}`)
    add('Split', `split_${state}`, [`initial_${state}`, 'directions'], outputs, { axis: 0 })
  }
  initializers['joined_shape'] = [0, 0, directions * H]
  for (const [layer, tensors] of weights.entries()) {
    for (const [key, tensor] of Object.entries(tensors)) initializers[`${key}_${layer}`] = tensor
    const y = `y_${layer}`
    const joined = layer === numLayers - 1 ? 'output' : `x_${layer + 1}`
    const node = layer === 0 && numLayers === 1 ? name : `${name}_${layer}`
    const weightNames = ['W', 'R', 'B'].map((key) => `${key}_${layer}`)
    const inputs = [x, ...weightNames, '', ...states.map((state) => `initial_${state}_${layer}`)]
    const outputs = [y, ...states.map((state) => `final_${state}_${layer}`)]
    add(OPERATORS[cellMode], node, inputs, outputs, attributesOf(descriptor))
    add('Transpose', `swap_${layer}`, [y], [`${y}_t`], { perm: [0, 2, 1, 3] })
    add('Reshape', `join_${layer}`, [`${y}_t`, 'joined_shape'], [joined])
    x = joined
  }
  for (const state of states) {
    const inputs = weights.map((_, layer) => `final_${state}_${layer}`)
    add('Concat', `collect_${state}`, inputs, [`final_${state}`], { axis: 0 })
  }
  if (dense !== undefined) {
    initializers['dense_kernel'] = dense.kernel
    initializers['dense_bias'] = dense.bias
    add('MatMul', 'dense', ['output', 'dense_kernel'], ['product'])
    add('Add', 'dense_add', ['product', 'dense_bias'], ['logits'])
  }
  const stateShape = [numPseudoLayers(descriptor), 'batch', H]
  const stateValues = (prefix: string) =>
    states.map((state) => ({ name: `${prefix}_${state}`, elementType, shape: stateShape }))
  const graph: GraphToWrite = {
    name,
    nodes,
    initializers,
    inputs: [
      embedding === undefined
        ? { name: 'input', elementType, shape: ['time', 'batch', inputSize] }
        : { name: 'ids', elementType: 'int64', shape: ['time', 'batch'] },
      ...stateValues('initial'),
    ],
    outputs: [
      dense === undefined
        ? { name: 'output', elementType, shape: ['time', 'batch', outputSize(descriptor)] }
        : { name: 'logits', elementType, shape: ['time', 'batch', dense.bias.data.length] },
      ...stateValues('final'),
    ],
  }
  return encodeOnnxModel(graph, IR_VERSION, OPSET)
}

function attributesOf({ cellMode, numUnits, direction }: RnnDescriptor): NonNullable<NodeToWrite['attributes']> {
  const isBoth = direction === 'bidirectional'
  return {
    hidden_size: numUnits,
    direction: isBoth ? 'bidirectional' : 'forward',
    ...(cellMode === 'gru' && { linear_before_reset: 1 }),
    ...(cellMode === 'rnn_relu' && { activations: isBoth ? ['Relu', 'Relu'] : ['Relu'] }),
  }
}

function checkSupported({ cellClip }: RnnDescriptor): void {
  if (cellClip === undefined) return
  throw new WeightFileError(
    'ERR_WEIGHTS_UNSUPPORTED',
    `Cannot export to ONNX as its clip bounds the inputs of activations, not the cell state: current cellClip is ${cellClip}`,
  )
}
