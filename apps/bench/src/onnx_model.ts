/**
 * ONNX models as bytes: an `LSTM`, `GRU` or `RNN` node per layer over `x` [T,B,I], giving `y` [T,1,B,H], or
 * [T,B,2·H] of two directions. Source of the operators: ONNX `defs/rnn/defs.cc`, opset 14.
 */
import type { NamedTensors } from '@cudnn-rnn/canonical'
import { encodeOnnxModel, type GraphToWrite, type NodeToWrite } from '@cudnn-rnn/rnn/interop'
import type { Workload } from './workload.js'

const IR_VERSION = 8
const OPSET = 14

const OPERATORS = {
  lstm: { opType: 'LSTM', attributes: {} },
  gru: { opType: 'GRU', attributes: { linear_before_reset: 1 } },
  rnn_relu: { opType: 'RNN', activation: 'Relu' },
  rnn_tanh: { opType: 'RNN', activation: 'Tanh' },
} as const

/** The model of a workload; `layers` as `canonicalToOnnx` gives them. Initial states are zero. */
export function onnxRecurrentModel(workload: Workload, layers: readonly NamedTensors<Float32Array>[]): Uint8Array {
  const { cellMode, bidirectional, numUnits, time, batch, inputSize } = workload
  const columns = (bidirectional ? 2 : 1) * numUnits
  const nodes: NodeToWrite[] = []
  const initializers = new Map<string, GraphToWrite['initializers'][string]>([['rows', [time, batch, columns]]])
  for (const [layer, tensors] of layers.entries()) {
    const at = (name: string) => `${name}${layer}`
    for (const [name, tensor] of Object.entries(tensors)) initializers.set(at(name), tensor)
    const isLast = layer === layers.length - 1
    // Y is [T,D,B,H]. Only two directions have to be moved beside each other; one is handed on as it is.
    const output = isLast && !bidirectional ? 'y' : at('Y')
    const next = isLast ? 'y' : `input${layer + 1}`
    nodes.push({
      opType: OPERATORS[cellMode].opType,
      name: at('layer'),
      inputs: [layer === 0 ? 'x' : at('input'), at('W'), at('R'), at('B')],
      outputs: [output],
      attributes: attributesOf(workload),
    })
    if (bidirectional) {
      nodes.push({
        opType: 'Transpose',
        name: at('turn'),
        inputs: [at('Y')],
        outputs: [at('turned')],
        attributes: { perm: [0, 2, 1, 3] },
      })
      nodes.push({ opType: 'Reshape', name: at('join'), inputs: [at('turned'), 'rows'], outputs: [next] })
    } else if (!isLast) {
      nodes.push({ opType: 'Reshape', name: at('join'), inputs: [at('Y'), 'rows'], outputs: [next] })
    }
  }
  return encode({
    name: cellMode,
    nodes,
    initializers: Object.fromEntries(initializers),
    inputs: [float32('x', [time, batch, inputSize])],
    outputs: [float32('y', bidirectional ? [time, batch, columns] : [time, 1, batch, numUnits])],
  })
}

/**
 * One step of one forward layer whose state is an input and an output: `x` [1,B,I], `h` and, for LSTM, `c` [1,B,H] give `y`
 * [1,1,B,H], `hNext` and `cNext`.
 */
export function onnxStepModel(workload: Workload, layer: NamedTensors<Float32Array>): Uint8Array {
  const { cellMode, numUnits, batch, inputSize } = workload
  const state = [1, batch, numUnits]
  const states = cellMode === 'lstm' ? ['h', 'c'] : ['h']
  return encode({
    name: cellMode,
    nodes: [
      {
        opType: OPERATORS[cellMode].opType,
        name: 'step',
        inputs: ['x', 'W', 'R', 'B', '', ...states],
        outputs: ['y', ...states.map((name) => `${name}Next`)],
        attributes: attributesOf({ ...workload, bidirectional: false }),
      },
    ],
    initializers: layer,
    inputs: [float32('x', [1, batch, inputSize]), ...states.map((name) => float32(name, state))],
    outputs: [float32('y', [1, 1, batch, numUnits]), ...states.map((name) => float32(`${name}Next`, state))],
  })
}

function encode(graph: GraphToWrite): Uint8Array {
  return encodeOnnxModel(graph, IR_VERSION, OPSET)
}

function attributesOf({ cellMode, numUnits, bidirectional }: Workload): NonNullable<NodeToWrite['attributes']> {
  const operator = OPERATORS[cellMode]
  return {
    hidden_size: numUnits,
    direction: bidirectional ? 'bidirectional' : 'forward',
    ...('attributes' in operator
      ? operator.attributes
      : { activations: Array<string>(bidirectional ? 2 : 1).fill(operator.activation) }),
  }
}

function float32(name: string, shape: readonly number[]): GraphToWrite['inputs'][number] {
  return { name, elementType: 'float32', shape }
}
