import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { encodeMessage } from '@cudnn-rnn/checkpoint/files'
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

/**
 * The bytes of a ModelProto: nodes and constants that the file has are copied from it, with their attributes and elements as
 * they are. Messages and field numbers: packages/interop/src/files/onnx_messages.ts.
 */
export function encodeGraph({ file, nodes, constants, inputs, outputs }: FoldedGraph): Uint8Array {
  const { bytes, model } = file
  const copied = (field: number) =>
    model.copied.filter((each) => each.field === field).map(({ start, end }) => bytes.subarray(start, end))
  const graph = encodeMessage({
    1: nodes.map((node) => {
      const attributes = [...node.attributes.values()].map(({ message: { start, end } }) => bytes.subarray(start, end))
      return encodeNodeProto(node, attributes)
    }),
    2: 'graph',
    5: Array.from(constants, ([name, constant]) => encodeConstant(name, constant, bytes)),
    11: inputs.map(({ name, type, shape }) => encodeValueInfo(name, dataTypeOf(type), shape)),
    // Without shapes: files have wrong ones at times, and ONNX Runtime infers its own.
    12: outputs.map(({ name, type }) => encodeValueInfo(name, dataTypeOf(type), undefined)),
  })
  return encodeMessage({ 1: model.irVersion, 2: 'cudnn-rnn', 7: graph, 8: copied(8), 25: copied(25) })
}

function encodeConstant(name: string, constant: OnnxTensor | Constant, bytes: Uint8Array): Uint8Array {
  if ('message' in constant) {
    // The last of two names in a message counts.
    const { start, end } = constant.message
    return new BinaryWriter()
      .raw(bytes.subarray(start, end))
      .raw(encodeMessage({ 8: name }))
      .finish()
  }
  return encodeTensorProto(name, dataTypeOf(constant.type), constant.shape, elementsOf(constant))
}

const LARGEST = 2n ** 63n - 1n

/** Elements as a file has them; 64-bit integers are float64 here, where the largest is 2^63. */
function elementsOf({ type, elements }: Constant): BigInt64Array | Elements {
  if (type === 'int64')
    return BigInt64Array.from(Array.from(elements, BigInt), (whole) => (whole > LARGEST ? LARGEST : whole))
  const made = newElements(type, elements.length) ?? new Float32Array()
  made.set(elements)
  return made
}
