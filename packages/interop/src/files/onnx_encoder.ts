import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
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
import { littleEndianBytes } from '@cudnn-rnn/checkpoint/files'
import { FLOAT_TENSOR } from '../float_tensor.js'

/** Value of an attribute of a written node. */
type AttributeValue = number | string | readonly number[] | readonly string[]

/** A node to write. */
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

/** A graph to write. */
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

const { Varint, LengthDelimited } = WireType

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
  const opsetImport = new BinaryWriter().tag(1, LengthDelimited).string('').tag(2, Varint).int64(opset).finish()
  return new BinaryWriter()
    .tag(1, Varint)
    .int64(irVersion)
    .tag(2, LengthDelimited)
    .string('cudnn-rnn')
    .tag(7, LengthDelimited)
    .bytes(encodeGraph(graph))
    .tag(8, LengthDelimited)
    .bytes(opsetImport)
    .finish()
}

function encodeGraph({ name, nodes, initializers, inputs, outputs }: GraphToWrite): Uint8Array {
  const writer = new BinaryWriter()
  for (const node of nodes) writer.tag(1, LengthDelimited).bytes(encodeNode(node))
  writer.tag(2, LengthDelimited).string(name)
  for (const [key, tensor] of Object.entries(initializers)) {
    writer.tag(5, LengthDelimited).bytes(encodeTensor(key, tensor))
  }
  for (const value of inputs) writer.tag(11, LengthDelimited).bytes(encodeValue(value))
  for (const value of outputs) writer.tag(12, LengthDelimited).bytes(encodeValue(value))
  return writer.finish()
}

function encodeNode({ attributes = {}, ...node }: NodeToWrite): Uint8Array {
  return encodeNodeProto(
    node,
    Object.entries(attributes).map(([key, value]) => encodeAttribute(key, value)),
  )
}

/** A NodeProto of attributes that are encoded. */
export function encodeNodeProto(
  { opType, name, domain = '', inputs, outputs }: Omit<NodeToWrite, 'attributes'> & { readonly domain?: string },
  attributes: readonly Uint8Array[],
): Uint8Array {
  const writer = new BinaryWriter()
  for (const input of inputs) writer.tag(1, LengthDelimited).string(input)
  for (const output of outputs) writer.tag(2, LengthDelimited).string(output)
  writer.tag(3, LengthDelimited).string(name).tag(4, LengthDelimited).string(opType)
  for (const attribute of attributes) writer.tag(5, LengthDelimited).bytes(attribute)
  if (domain !== '') writer.tag(7, LengthDelimited).string(domain)
  return writer.finish()
}

function encodeAttribute(name: string, value: AttributeValue): Uint8Array {
  const writer = new BinaryWriter().tag(1, LengthDelimited).string(name)
  const typed = (type: keyof typeof ATTRIBUTE_TYPES) => writer.tag(20, Varint).int32(ATTRIBUTE_TYPES[type]).finish()
  if (typeof value === 'number') {
    writer.tag(3, Varint).int64(value)
    return typed('INT')
  }
  if (typeof value === 'string') {
    writer.tag(4, LengthDelimited).string(value)
    return typed('STRING')
  }
  for (const item of value) {
    if (typeof item === 'number') writer.tag(8, Varint).int64(item)
    else writer.tag(9, LengthDelimited).string(item)
  }
  return typed(typeof value[0] === 'string' ? 'STRINGS' : 'INTS')
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
  const writer = new BinaryWriter()
  for (const size of shape) writer.tag(1, Varint).int64(size)
  writer.tag(2, Varint).int32(dataType).tag(8, LengthDelimited).string(name)
  return writer.tag(9, LengthDelimited).bytes(littleEndianBytes(elements)).finish()
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
  const tensor = new BinaryWriter().tag(1, Varint).int32(dataType)
  if (shape !== undefined) {
    const dimensions = new BinaryWriter()
    for (const size of shape) {
      const dimension = new BinaryWriter()
      if (typeof size === 'number') dimension.tag(1, Varint).int64(size)
      else dimension.tag(2, LengthDelimited).string(size)
      dimensions.tag(1, LengthDelimited).bytes(dimension.finish())
    }
    tensor.tag(2, LengthDelimited).bytes(dimensions.finish())
  }
  const type = new BinaryWriter().tag(1, LengthDelimited).bytes(tensor.finish()).finish()
  return new BinaryWriter().tag(1, LengthDelimited).string(name).tag(2, LengthDelimited).bytes(type).finish()
}

function encodeValue({ name, elementType, shape }: ValueToWrite): Uint8Array {
  return encodeValueInfo(name, ELEMENT_TYPES[elementType], shape)
}
