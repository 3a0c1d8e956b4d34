import {
  checkArguments,
  either,
  fields,
  integerFrom,
  keyOf,
  listOf,
  NUMBER,
  optional,
  recordOf,
  TEXT,
  where,
} from '@cudnn-rnn/canonical/rules'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { encodeMessage, littleEndianBytes } from '@cudnn-rnn/checkpoint/files'
import { FLOAT_TENSOR } from '../float_tensor.js'

/** Value of an attribute of a written node. */
type AttributeValue = number | string | readonly number[] | readonly string[]

export interface NodeToWrite {
  readonly opType: string
  readonly name: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes?: Readonly<Record<string, AttributeValue>>
}

/** A graph input or output; a dimension by name may have any size. */
interface ValueToWrite {
  readonly name: string
  readonly elementType: OnnxElementType
  readonly shape: readonly (number | string)[]
}

export interface GraphToWrite {
  readonly name: string
  readonly nodes: readonly NodeToWrite[]
  readonly initializers: Readonly<Record<string, Tensor<FloatArray> | readonly number[]>>
  readonly inputs: readonly ValueToWrite[]
  readonly outputs: readonly ValueToWrite[]
}

/** TensorProto.DataType. */
const ELEMENT_TYPES = { float32: 1, int64: 7, float64: 11 } as const

export type OnnxElementType = keyof typeof ELEMENT_TYPES

/** AttributeProto.AttributeType. */
const ATTRIBUTE_TYPES = { INT: 2, STRING: 3, INTS: 7, STRINGS: 8 } as const

const INTEGER = where(NUMBER, 'an integer', Number.isSafeInteger)
const NODE = fields({
  opType: TEXT,
  name: TEXT,
  inputs: listOf(TEXT),
  outputs: listOf(TEXT),
  attributes: optional(recordOf(either(INTEGER, TEXT, listOf(INTEGER), listOf(TEXT)))),
})
const VALUE = fields({
  name: TEXT,
  elementType: keyOf(ELEMENT_TYPES),
  shape: listOf(either(integerFrom(0), TEXT)),
})
const RULES = {
  graph: fields({
    name: TEXT,
    nodes: listOf(NODE),
    initializers: recordOf(either(FLOAT_TENSOR, listOf(INTEGER))),
    inputs: listOf(VALUE),
    outputs: listOf(VALUE),
  }),
  irVersion: integerFrom(1),
  opset: integerFrom(1),
}

/**
 * The bytes of a ModelProto; the messages are described in onnx_messages.ts.
 *
 * @throws TypeError `ERR_INVALID_ARGUMENT`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { encodeOnnxModel } from '@cudnn-rnn/rnn/interop'
 *
 * const x = { name: 'x', elementType: 'float32', shape: ['time', 3] } as const
 * const y = { name: 'y', elementType: 'float32', shape: ['time', 3] } as const
 * const nodes = [{ opType: 'Tanh', name: 'tanh', inputs: ['x'], outputs: ['y'] }]
 * const graph = { name: 'squash', nodes, initializers: {}, inputs: [x], outputs: [y] }
 * console.log(encodeOnnxModel(graph, 8, 17).length > 0) // true
 * ```
 */
export function encodeOnnxModel(graph: GraphToWrite, irVersion: number, opset: number): Uint8Array {
  checkArguments('write an ONNX file', { graph, irVersion, opset }, RULES)
  return encodeMessage({ 1: irVersion, 2: 'cudnn-rnn', 7: encodeGraph(graph), 8: encodeMessage({ 1: '', 2: opset }) })
}

function encodeGraph({ name, nodes, initializers, inputs, outputs }: GraphToWrite): Uint8Array {
  const valueInfo = ({ name: own, elementType, shape }: ValueToWrite) =>
    encodeValueInfo(own, ELEMENT_TYPES[elementType], shape)
  return encodeMessage({
    1: nodes.map(encodeNode),
    2: name,
    5: Object.entries(initializers).map(([key, tensor]) => encodeTensor(key, tensor)),
    11: inputs.map(valueInfo),
    12: outputs.map(valueInfo),
  })
}

function encodeNode({ attributes = {}, ...node }: NodeToWrite): Uint8Array {
  return encodeNodeProto(
    node,
    Object.entries(attributes).map(([key, value]) => encodeAttribute(key, value)),
  )
}

/** A NodeProto of attributes that are encoded. */
export function encodeNodeProto(
  { opType, name, domain, inputs, outputs }: Omit<NodeToWrite, 'attributes'> & { readonly domain?: string },
  attributes: readonly Uint8Array[],
): Uint8Array {
  return encodeMessage({ 1: inputs, 2: outputs, 3: name, 4: opType, 5: attributes, 7: domain || undefined })
}

function encodeAttribute(name: string, value: AttributeValue): Uint8Array {
  if (typeof value === 'number') return encodeMessage({ 1: name, 3: value, 20: ATTRIBUTE_TYPES.INT })
  if (typeof value === 'string') return encodeMessage({ 1: name, 4: value, 20: ATTRIBUTE_TYPES.STRING })
  const isText = typeof value[0] === 'string'
  return encodeMessage({ 1: name, [isText ? 9 : 8]: value, 20: ATTRIBUTE_TYPES[isText ? 'STRINGS' : 'INTS'] })
}

/** A float tensor with raw little-endian elements, or a vector of int64. */
function encodeTensor(name: string, tensor: Tensor<FloatArray> | readonly number[]): Uint8Array {
  if (!('data' in tensor)) {
    return encodeTensorProto(name, ELEMENT_TYPES.int64, [tensor.length], BigInt64Array.from(tensor, BigInt))
  }
  const type = tensor.data instanceof Float64Array ? 'float64' : 'float32'
  return encodeTensorProto(name, ELEMENT_TYPES[type], tensor.shape, tensor.data)
}

/** A TensorProto of elements in the order of the processor. */
export function encodeTensorProto(
  name: string,
  dataType: number,
  shape: readonly number[],
  elements: ArrayBufferView & { readonly BYTES_PER_ELEMENT: number },
): Uint8Array {
  return encodeMessage({ 1: shape, 2: dataType, 8: name, 9: littleEndianBytes(elements) })
}

/**
 * A ValueInfoProto, with TypeProto.Tensor and TensorShapeProto within.
 *
 * @param shape sizes, and names of open ones; undefined for a tensor of any shape
 */
export function encodeValueInfo(
  name: string,
  dataType: number,
  shape: readonly (number | string)[] | undefined,
): Uint8Array {
  const dimensions = shape?.map((size) => encodeMessage({ [typeof size === 'number' ? 1 : 2]: size }))
  const tensor = encodeMessage({ 1: dataType, 2: dimensions && encodeMessage({ 1: dimensions }) })
  return encodeMessage({ 1: name, 2: encodeMessage({ 1: tensor }) })
}
