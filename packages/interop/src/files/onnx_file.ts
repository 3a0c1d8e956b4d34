import { BYTES, checkArguments } from '@cudnn-rnn/arguments'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { isRecurrent, shapesConstants } from '../networks/onnx_states.js'
import type { StoredTensor, WeightFile } from '../weight_file.js'
import { ExternalFiles } from './external_files.js'
import { dataTypeInWords, elementsOf, OnnxElements } from './onnx_elements.js'
import { type OnnxGraphMessage, type OnnxNodeMessage, type OnnxTensor, scanOnnxModel } from './onnx_messages.js'
import { decodeOnnxTensor } from './onnx_tensor.js'
import { TensorList } from './tensor_list.js'

/**
 * Opens an ONNX model: the constant tensors of its graphs and its recurrent nodes. Elements are read when they are requested
 * for, also those in files beside the model.
 *
 * @param isPath whether the source's name is a path, so that there can be files beside it.
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`
 */
export async function openOnnx(source: ByteSource, isPath: boolean): Promise<WeightFile> {
  const path = source.name
  const external = new ExternalFiles(path, isPath)
  const elements = new OnnxElements(source, external)
  const list = new TensorList(path, source.size)
  const small = new TensorList(path, source.size)
  const nodes: OnnxNodeMessage[] = []
  const visit = (graph: OnnxGraphMessage): void => {
    for (const tensor of graph.initializers) list.add(storedTensor(elements, tensor.name, tensor))
    for (const node of graph.nodes) {
      const value = constantOf(node)
      if (value !== undefined) {
        const isListed = node.opType === 'Constant' && value.dims.length > 1
        const stored = storedTensor(elements, node.outputs[0] ?? '', value)
        if (isListed) list.add(stored)
        else small.add(stored)
      }
      if (isRecurrent(node) || shapesConstants(node)) nodes.push(node)
      for (const { graph: inner } of node.attributes.values()) if (inner !== undefined) visit(inner)
    }
  }
  const isWanted = (node: OnnxNodeMessage) => {
    return isRecurrent(node) || shapesConstants(node) || constantOf(node) !== undefined || hasGraph(node)
  }
  visit(await scanOnnxModel(source, isWanted))
  const close = async () => {
    await external.close()
    await source.close()
  }
  return {
    format: 'onnx',
    path,
    get heldBytes() {
      return source.size + external.heldBytes
    },
    tensors: list.tensors,
    smallTensors: small.tensors,
    nodes,
    close,
  }
}

/**
 * The tensor of an ONNX `.pb` file, as the node tests of ONNX store inputs and outputs.
 *
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED`
 * @example
 * ```ts no-run
 * import { readFile } from 'node:fs/promises'
 * import { decodeOnnxTensorFile } from '@cudnn-rnn/rnn/interop'
 *
 * const { shape, data } = decodeOnnxTensorFile(await readFile('test_data_set_0/input_0.pb'))
 * console.log(shape, data.length)
 * ```
 */
export function decodeOnnxTensorFile(bytes: Uint8Array): Tensor<FloatArray> {
  checkArguments('read an ONNX tensor', { bytes }, { bytes: BYTES })
  const tensor = decodeOnnxTensor('(bytes)', bytes)
  return { data: elementsOf('(bytes)', tensor.name, tensor), shape: tensor.dims }
}

/** The tensor of a `Constant`, or the element that a `ConstantOfShape` repeats. */
function constantOf({ opType, attributes }: OnnxNodeMessage): OnnxTensor | undefined {
  return opType === 'Constant' || opType === 'ConstantOfShape' ? attributes.get('value')?.tensor : undefined
}

function hasGraph({ attributes }: OnnxNodeMessage): boolean {
  return [...attributes.values()].some(({ graph }) => graph !== undefined)
}

function storedTensor(elements: OnnxElements, name: string, tensor: OnnxTensor): StoredTensor {
  return {
    name,
    shape: tensor.dims,
    dtype: dataTypeInWords(tensor.dataType),
    read: () => elements.read(name, tensor),
    integers: () => elements.readIntegers(name, tensor),
  }
}
