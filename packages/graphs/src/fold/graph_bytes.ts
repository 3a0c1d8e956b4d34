import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import {
  dataTypeOf,
  type Elements,
  encodeNodeProto,
  encodeTensorProto,
  encodeValueInfo,
  newElements,
  type OnnxTensor,
} from '@cudnn-rnn/interop/internal'
import type { FoldedGraph } from './fold_graph.js'
import type { Constant } from './known_value.js'

const { Varint, LengthDelimited } = WireType

/**
 * The bytes of a ModelProto: nodes and constants that the file has are copied from it, with their attributes and elements as
 * they are. Messages and field numbers: packages/interop/src/files/onnx_messages.ts.
 */
export function encodeGraph({ file, nodes, constants, inputs, outputs }: FoldedGraph): Uint8Array {
  const { bytes, model } = file
  const writer = new BinaryWriter().tag(1, Varint).int64(model.irVersion)
  writer.tag(2, LengthDelimited).string('cudnn-rnn')
  for (const { field, start, end } of model.copied) writer.tag(field, LengthDelimited).bytes(bytes.subarray(start, end))
  const graph = new BinaryWriter()
  for (const node of nodes) {
    const attributes = [...node.attributes.values()].map(({ message: { start, end } }) => bytes.subarray(start, end))
    graph.tag(1, LengthDelimited).bytes(encodeNodeProto(node, attributes))
  }
  graph.tag(2, LengthDelimited).string('graph')
  for (const [name, constant] of constants) graph.tag(5, LengthDelimited).bytes(encodeConstant(name, constant, bytes))
  for (const { name, type, shape } of inputs)
    graph.tag(11, LengthDelimited).bytes(encodeValueInfo(name, dataTypeOf(type), shape))
  // Without shapes: those of files are wrong at times, and ONNX Runtime infers its own.
  for (const { name, type } of outputs)
    graph.tag(12, LengthDelimited).bytes(encodeValueInfo(name, dataTypeOf(type), undefined))
  return writer.tag(7, LengthDelimited).bytes(graph.finish()).finish()
}

function encodeConstant(name: string, constant: OnnxTensor | Constant, bytes: Uint8Array): Uint8Array {
  if ('message' in constant) {
    // The last of two names in a message counts.
    const { start, end } = constant.message
    return new BinaryWriter().raw(bytes.subarray(start, end)).tag(8, LengthDelimited).string(name).finish()
  }
  return encodeTensorProto(name, dataTypeOf(constant.type), constant.shape, elementsOf(constant))
}

const LARGEST = 2n ** 63n - 1n

/** Elements as a file has them: those of 64-bit integers are float64 here. */
function elementsOf({ type, elements }: Constant): BigInt64Array | Elements {
  if (type === 'int64') {
    return BigInt64Array.from(Array.from(elements, BigInt), (whole) =>
      whole > LARGEST ? LARGEST : whole < -LARGEST ? -LARGEST : whole,
    )
  }
  const made = newElements(type, elements.length) ?? new Float32Array()
  made.set(elements)
  return made
}
