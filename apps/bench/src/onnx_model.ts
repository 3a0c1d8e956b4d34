/**
 * ONNX models as bytes: an `LSTM`, `GRU` or `RNN` node per layer over `x` [T,B,I], giving `y` [T,1,B,H], or
 * [T,B,2·H] of two directions; and one matrix product. Source of the operators: ONNX `defs/rnn/defs.cc`, opset 14.
 */
import type { NamedTensors, Tensor } from '@cudnn-rnn/canonical'
import protobuf from 'protobufjs'
import { ONNX_SCHEMA } from './onnx_schema.js'
import type { Workload } from './workload.js'

const FLOAT = 1
const INT64 = 7
const ATTRIBUTE = { i: 2, s: 3, ints: 7, strings: 8 } as const

const OPERATORS = {
  lstm: { op_type: 'LSTM', attribute: [] },
  gru: { op_type: 'GRU', attribute: [attribute('linear_before_reset', 'i', 1)] },
  rnn_relu: { op_type: 'RNN', activation: 'Relu' },
  rnn_tanh: { op_type: 'RNN', activation: 'Tanh' },
} as const

const modelType = protobuf.parse(ONNX_SCHEMA, { keepCase: true }).root.lookupType('onnx.ModelProto')

/** The model of a workload; `layers` as `canonicalToOnnx` gives them. Initial states are zero. */
export function onnxRecurrentModel(workload: Workload, layers: readonly NamedTensors<Float32Array>[]): Uint8Array {
  const { cellMode, bidirectional, numUnits, time, batch, inputSize } = workload
  const directions = bidirectional ? 2 : 1
  const operator = OPERATORS[cellMode]
  const attributes = [
    attribute('hidden_size', 'i', numUnits),
    attribute('direction', 's', bytes(bidirectional ? 'bidirectional' : 'forward')),
    ...('attribute' in operator
      ? operator.attribute
      : [attribute('activations', 'strings', Array<Uint8Array>(directions).fill(bytes(operator.activation)))]),
  ]
  const columns = directions * numUnits
  const node: object[] = []
  const initializer: object[] = [int64s('rows', [time, batch, columns])]
  for (const [layer, tensors] of layers.entries()) {
    const at = (name: string) => `${name}${layer}`
    for (const [name, tensor] of Object.entries(tensors)) initializer.push(floats(at(name), tensor))
    const isLast = layer === layers.length - 1
    // Y is [T,D,B,H]. Only two directions have to be moved beside each other; one is handed on as it is.
    const output = isLast && !bidirectional ? 'y' : at('Y')
    const next = isLast ? 'y' : `input${layer + 1}`
    node.push({
      op_type: operator.op_type,
      input: [layer === 0 ? 'x' : at('input'), at('W'), at('R'), at('B')],
      output: [output],
      attribute: attributes,
    })
    if (bidirectional) {
      const perm = attribute('perm', 'ints', [0, 2, 1, 3])
      node.push({ op_type: 'Transpose', input: [at('Y')], output: [at('turned')], attribute: [perm] })
      node.push({ op_type: 'Reshape', input: [at('turned'), 'rows'], output: [next] })
    } else if (!isLast) {
      node.push({ op_type: 'Reshape', input: [at('Y'), 'rows'], output: [next] })
    }
  }
  return encode({
    node,
    name: cellMode,
    initializer,
    input: [value('x', [time, batch, inputSize])],
    output: [value('y', bidirectional ? [time, batch, columns] : [time, 1, batch, numUnits])],
  })
}

/**
 * One step of one forward layer whose state is an input and an output: `x` [1,B,I], `h` and, for LSTM, `c` [1,B,H] give `y`
 * [1,1,B,H], `hNext` and `cNext`.
 */
export function onnxStepModel(workload: Workload, layer: NamedTensors<Float32Array>): Uint8Array {
  const { cellMode, numUnits, batch, inputSize } = workload
  const operator = OPERATORS[cellMode]
  const hasCell = cellMode === 'lstm'
  const state = [1, batch, numUnits]
  const states = hasCell ? ['h', 'c'] : ['h']
  return encode({
    node: [
      {
        op_type: operator.op_type,
        input: ['x', 'W', 'R', 'B', '', ...states],
        output: ['y', ...states.map((name) => `${name}Next`)],
        attribute: [
          attribute('hidden_size', 'i', numUnits),
          ...('attribute' in operator
            ? operator.attribute
            : [attribute('activations', 'strings', [bytes(operator.activation)])]),
        ],
      },
    ],
    name: cellMode,
    initializer: Object.entries(layer).map(([name, tensor]) => floats(name, tensor)),
    input: [value('x', [1, batch, inputSize]), ...states.map((name) => value(name, state))],
    output: [value('y', [1, 1, batch, numUnits]), ...states.map((name) => value(`${name}Next`, state))],
  })
}

/** y = x · x of a square matrix [size,size]. */
export function onnxProductModel(size: number): Uint8Array {
  return encode({
    node: [{ op_type: 'MatMul', input: ['x', 'x'], output: ['y'] }],
    name: 'product',
    initializer: [],
    input: [value('x', [size, size])],
    output: [value('y', [size, size])],
  })
}

function encode(graph: object): Uint8Array {
  const model = { ir_version: 8, producer_name: 'cudnn-rnn', graph, opset_import: [{ domain: '', version: 14 }] }
  return modelType.encode(modelType.fromObject(model)).finish()
}

function attribute<Kind extends keyof typeof ATTRIBUTE>(name: string, kind: Kind, content: unknown) {
  return { name, [kind]: content, type: ATTRIBUTE[kind] }
}

function value(name: string, shape: readonly number[]) {
  return {
    name,
    type: { tensor_type: { elem_type: FLOAT, shape: { dim: shape.map((size) => ({ dim_value: size })) } } },
  }
}

function floats(name: string, { data, shape }: Tensor<Float32Array>) {
  return {
    name,
    dims: shape,
    data_type: FLOAT,
    raw_data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
  }
}

function int64s(name: string, values: readonly number[]) {
  const data = BigInt64Array.from(values, BigInt)
  return { name, dims: [values.length], data_type: INT64, raw_data: new Uint8Array(data.buffer) }
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
