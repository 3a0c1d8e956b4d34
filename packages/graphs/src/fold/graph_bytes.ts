import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { type ElementTypeName, encodeValueInfo, type OnnxTensor } from '@cudnn-rnn/interop/internal'
import type { FoldedGraph, GraphValue } from './fold_graph.js'
import type { GraphNode } from './graph_node.js'
import type { Constant } from './known_value.js'

const { Varint, LengthDelimited } = WireType

/** TensorProto.DataType. */
const DATA_TYPES: Readonly<Record<string, number>> = {
  ...{ float32: 1, uint8: 2, int8: 3, uint16: 4, int16: 5, int32: 6, int64: 7, bool: 9, float16: 10, float64: 11 },
  ...{ uint32: 12, uint64: 13, bfloat16: 16 },
}

/**
 * The bytes of a ModelProto: nodes and constants that the file has are copied from it, with their attributes and elements as
 * they are. Messages and field numbers: packages/interop/src/files/onnx_messages.ts.
 */
export function encodeGraph({
  file,
  nodes,
  constants,
  inputs,
  outputs,
}: Omit<FoldedGraph, 'known' | 'sizes'>): Uint8Array {
  const { bytes, model } = file
  const writer = new BinaryWriter().tag(1, Varint).int64(model.irVersion)
  writer.tag(2, LengthDelimited).string('cudnn-rnn')
  for (const { field, start, end } of model.copied) writer.tag(field, LengthDelimited).bytes(bytes.subarray(start, end))
  const graph = new BinaryWriter()
  for (const node of nodes) graph.tag(1, LengthDelimited).bytes(encodeNode(node, bytes))
  graph.tag(2, LengthDelimited).string('graph')
  for (const [name, constant] of constants) graph.tag(5, LengthDelimited).bytes(encodeConstant(name, constant, bytes))
  for (const value of inputs) graph.tag(11, LengthDelimited).bytes(encodeValue(value, true))
  // Without shapes: those of files are wrong at times, and ONNX Runtime infers its own.
  for (const value of outputs) graph.tag(12, LengthDelimited).bytes(encodeValue(value, false))
  return writer.tag(7, LengthDelimited).bytes(graph.finish()).finish()
}

function encodeNode({ opType, name, domain, inputs, outputs, attributes }: GraphNode, bytes: Uint8Array): Uint8Array {
  const writer = new BinaryWriter()
  for (const input of inputs) writer.tag(1, LengthDelimited).string(input)
  for (const output of outputs) writer.tag(2, LengthDelimited).string(output)
  writer.tag(3, LengthDelimited).string(name).tag(4, LengthDelimited).string(opType)
  for (const { message } of attributes.values())
    writer.tag(5, LengthDelimited).bytes(bytes.subarray(message.start, message.end))
  if (domain !== '') writer.tag(7, LengthDelimited).string(domain)
  return writer.finish()
}

function encodeConstant(name: string, constant: OnnxTensor | Constant, bytes: Uint8Array): Uint8Array {
  const writer = new BinaryWriter()
  if ('message' in constant) {
    // Of two names in one message the last counts.
    const { start, end } = constant.message
    return writer.raw(bytes.subarray(start, end)).tag(8, LengthDelimited).string(name).finish()
  }
  const { type, shape, elements } = constant
  for (const size of shape) writer.tag(1, Varint).int64(size)
  writer.tag(2, Varint).int32(DATA_TYPES[type] ?? 0)
  writer.tag(8, LengthDelimited).string(name)
  return writer.tag(9, LengthDelimited).bytes(rawElements(type, elements)).finish()
}

const LARGEST = 2n ** 63n - 1n

/** Elements as the file has them: those of 64-bit integers are float64 here. */
function rawElements(type: ElementTypeName, elements: ArrayLike<number>): Uint8Array {
  const integer = (value: number) => {
    const whole = BigInt(value)
    return whole > LARGEST ? LARGEST : whole < -LARGEST ? -LARGEST : whole
  }
  const made =
    type === 'int64' || type === 'uint64'
      ? BigInt64Array.from(Array.from(elements), integer)
      : (ARRAYS[type] ?? Float32Array).from(elements)
  return new Uint8Array(made.buffer, made.byteOffset, made.byteLength)
}

const ARRAYS: Readonly<Partial<Record<ElementTypeName, { from(elements: ArrayLike<number>): ArrayBufferView }>>> = {
  ...{ float64: Float64Array, float32: Float32Array, int32: Int32Array, uint32: Uint32Array },
  ...{ int16: Int16Array, uint16: Uint16Array, int8: Int8Array, uint8: Uint8Array, bool: Uint8Array },
}

function encodeValue({ name, type, shape }: GraphValue, hasShape: boolean): Uint8Array {
  return encodeValueInfo(name, DATA_TYPES[type] ?? 8, hasShape ? shape : undefined)
}
