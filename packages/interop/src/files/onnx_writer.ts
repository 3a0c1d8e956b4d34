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
  let x = 'input'
  if (embedding !== undefined) {
    initializers['embedding'] = embedding
    nodes.push({ opType: 'Gather', name: 'embed', inputs: ['embedding', 'ids'], outputs: [x] })
  }
  for (const state of states) {
    initializers['directions'] = Array.from({ length: numLayers }, () => directions)
    const outputs = weights.map((_, layer) => `initial_${state}_${layer}`)
    const inputs = [`initial_${state}`, 'directions']
    nodes.push({ opType: 'Split', name: `split_${state}`, inputs, outputs, attributes: { axis: 0 } })
  }
  initializers['joined_shape'] = [0, 0, directions * H]
  for (const [layer, tensors] of weights.entries()) {
    for (const [key, tensor] of Object.entries(tensors)) initializers[`${key}_${layer}`] = tensor
    const y = `y_${layer}`
    const joined = layer === numLayers - 1 ? 'output' : `x_${layer + 1}`
    nodes.push(
      {
        opType: OPERATORS[cellMode],
        name: layer === 0 && numLayers === 1 ? name : `${name}_${layer}`,
        inputs: [
          x,
          ...['W', 'R', 'B'].map((key) => `${key}_${layer}`),
          '',
          ...states.map((state) => `initial_${state}_${layer}`),
        ],
        outputs: [y, ...states.map((state) => `final_${state}_${layer}`)],
        attributes: attributesOf(descriptor),
      },
      {
        opType: 'Transpose',
        name: `swap_${layer}`,
        inputs: [y],
        outputs: [`${y}_t`],
        attributes: { perm: [0, 2, 1, 3] },
      },
      { opType: 'Reshape', name: `join_${layer}`, inputs: [`${y}_t`, 'joined_shape'], outputs: [joined] },
    )
    x = joined
  }
  for (const state of states) {
    const inputs = weights.map((_, layer) => `final_${state}_${layer}`)
    nodes.push({
      opType: 'Concat',
      name: `collect_${state}`,
      inputs,
      outputs: [`final_${state}`],
      attributes: { axis: 0 },
    })
  }
  if (dense !== undefined) {
    initializers['dense_kernel'] = dense.kernel
    initializers['dense_bias'] = dense.bias
    nodes.push(
      { opType: 'MatMul', name: 'dense', inputs: ['output', 'dense_kernel'], outputs: ['product'] },
      { opType: 'Add', name: 'dense_add', inputs: ['product', 'dense_bias'], outputs: ['logits'] },
    )
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
