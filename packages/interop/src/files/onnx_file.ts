import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { checkedCount, decodeElements, ELEMENT_TYPES, type ElementTypeName } from '../elements.js'
import { corrupt, unsupported } from '../errors.js'
import type { StoredTensor, WeightFile } from '../weight_file.js'
import {
  decodeOnnxModel,
  decodeOnnxTensor,
  type OnnxGraphMessage,
  type OnnxNodeMessage,
  type OnnxTensor,
} from './onnx_messages.js'

/** TensorProto.DataType of what is read; others are listed and not read. */
const DATA_TYPES: Readonly<Record<number, ElementTypeName>> = {
  1: 'float32',
  2: 'uint8',
  3: 'int8',
  6: 'int32',
  7: 'int64',
  9: 'bool',
  10: 'float16',
  11: 'float64',
  16: 'bfloat16',
}

const RECURRENT = ['LSTM', 'GRU', 'RNN']

/** Opens an ONNX model: the constant tensors of its graphs and its recurrent nodes. Throws `ERR_WEIGHTS_CORRUPT`. */
export async function openOnnx(source: ByteSource): Promise<WeightFile> {
  const path = source.name
  const tensors: StoredTensor[] = []
  const nodes: OnnxNodeMessage[] = []
  const visit = (graph: OnnxGraphMessage): void => {
    for (const tensor of graph.initializers) tensors.push(storedTensor(path, tensor.name, tensor))
    for (const node of graph.nodes) {
      const value = node.opType === 'Constant' ? node.attributes.get('value')?.tensor : undefined
      // Constants of a few elements are shapes and axes, not weights.
      if (value !== undefined && value.dims.length > 1) tensors.push(storedTensor(path, node.outputs[0] ?? '', value))
      if (RECURRENT.includes(node.opType) && ['', 'ai.onnx'].includes(node.domain)) nodes.push(node)
      for (const { graph: inner } of node.attributes.values()) if (inner !== undefined) visit(inner)
    }
  }
  visit(decodeOnnxModel(path, await source.read(0, source.size)))
  return { format: 'onnx', path, tensors, nodes, close: () => source.close() }
}

/**
 * The tensor of an ONNX `.pb` file, as the node tests of ONNX store inputs and outputs.
 *
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED`
 */
export function decodeOnnxTensorFile(bytes: Uint8Array): Tensor<FloatArray> {
  const tensor = decodeOnnxTensor('(bytes)', bytes)
  return { data: elementsOf('(bytes)', tensor.name, tensor), shape: tensor.dims }
}

function storedTensor(path: string, name: string, tensor: OnnxTensor): StoredTensor {
  const dtype = DATA_TYPES[tensor.dataType] ?? `data type ${tensor.dataType}`
  return {
    name,
    shape: tensor.dims,
    dtype,
    read: async () => elementsOf(path, name, tensor),
    integers: async () => integersOf(path, name, tensor),
  }
}

function elementsOf(path: string, name: string, { dataType, dims, raw, isExternal, ...typed }: OnnxTensor): FloatArray {
  if (isExternal) throw unsupported(path, `tensors must be within the file: ${name} is in another`)
  const type = DATA_TYPES[dataType]
  if (type === undefined) throw unsupported(path, `weights are floating point: ${name} has data type ${dataType}`)
  const elements = raw === undefined ? typedElements(type, typed) : decodeElements(path, name, type, raw)
  if (elements === undefined) throw unsupported(path, `weights are floating point: ${name} holds ${type}`)
  const count = checkedCount(path, name, dims, elements.length)
  if (count !== elements.length) throw corrupt(path, `${name} of shape [${dims}] has ${elements.length} elements`)
  return elements
}

/** Elements that are not raw bytes; those of 16 bits are bit patterns in 32-bit integers. */
function typedElements(
  type: ElementTypeName,
  { floats, doubles, int32s }: Pick<OnnxTensor, 'floats' | 'doubles' | 'int32s'>,
): FloatArray | undefined {
  if (type === 'float32') return floats ?? new Float32Array()
  if (type === 'float64') return doubles ?? new Float64Array()
  if (ELEMENT_TYPES[type].bytes !== 2) return undefined
  return decodeElements('', '', type, new Uint8Array(Uint16Array.from(int32s).buffer))
}

/** The elements of an integer tensor, such as axes or lengths. */
function integersOf(path: string, name: string, { dims, raw, int32s, int64s, dataType }: OnnxTensor): number[] {
  if (raw === undefined) return [...int64s, ...int32s]
  const bytes = new Uint8Array(raw).buffer
  if (DATA_TYPES[dataType] === 'int64') return Array.from(new BigInt64Array(bytes), Number)
  if (DATA_TYPES[dataType] === 'int32') return [...new Int32Array(bytes)]
  throw unsupported(path, `${name} [${dims}] must be of integers`)
}
