import { zerosLike } from '@cudnn-rnn/canonical/rules'
import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { checkedCount } from '../elements.js'
import { corrupt } from '../errors.js'
import { isNeeded } from '../networks/onnx_operators.js'
import { OnnxRecurrences } from '../networks/onnx_recurrences.js'
import type { StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'
import { ExternalFiles } from './external_files.js'
import { dataTypeInWords, OnnxElements } from './onnx_elements.js'
import {
  type OnnxAttribute,
  type OnnxBodyMessage,
  type OnnxGraphMessage,
  type OnnxNodeMessage,
  type OnnxSparseTensor,
  type OnnxTensor,
  scanOnnxModel,
} from './onnx_messages.js'
import { functionKey, type OnnxGraph } from './onnx_model.js'
import { rowMajorStrides } from './strided_elements.js'
import { TensorList } from './tensor_list.js'

/**
 * Opens an ONNX model: the constant tensors of its graphs and functions, and the nodes that its recurrent networks need.
 * Elements are read when they are requested for, also those in files beside the model.
 *
 * @param isPath whether the source's name is a path, so that there can be files beside it.
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED`
 */
export async function openOnnx(source: ByteSource, isPath: boolean): Promise<WeightFile> {
  const path = source.name
  const external = new ExternalFiles(path, isPath)
  const elements = new OnnxElements(source, external)
  const builder = new ModelBuilder(source, elements)
  const heldBytes = () => source.size + external.heldBytes
  const recurrences = new OnnxRecurrences()
  const message = await scanOnnxModel(source, (node) => {
    recurrences.see(node)
    return isNeeded(node)
  })
  const graph = builder.graph(message.graph, namesOf(message.graph))
  const functions = new Map(
    message.functions.map((own) => {
      const { inputs, outputs, defaults } = own
      return [functionKey(own.domain, own.name), { ...builder.graph(own, outputs), inputs, defaults }]
    }),
  )
  const constants = new Set(builder.listed.map(({ name }) => name))
  const close = async () => {
    await external.close()
    await source.close()
  }
  return {
    format: 'onnx',
    path,
    get heldBytes() {
      return heldBytes()
    },
    tensors: builder.listed,
    unread: recurrences.found((name) => constants.has(name)),
    onnx: {
      graph,
      functions,
      tensorOf: (attribute) => builder.tensorOf('value', attribute),
      listsOf: ({ message }) => elements.readLists(message),
      heldBytes,
    },
    close,
  }
}

/** A dense tensor of zeros may take so many times the bytes of its file, and this. */
const LARGEST_GROWTH = 2
const FREE_BYTES = 2 ** 25

/** Attributes of `Constant` that hold its value, single numbers last. */
const VALUES = ['value', 'sparse_value', 'value_floats', 'value_ints', 'value_float', 'value_int']

/** Makes graphs of messages, and lists their tensors. */
class ModelBuilder {
  readonly #source: ByteSource
  readonly #elements: OnnxElements
  readonly #list: TensorList

  constructor(source: ByteSource, elements: OnnxElements) {
    this.#source = source
    this.#elements = elements
    this.#list = new TensorList(source.name, source.size)
  }

  get listed(): readonly StoredTensor[] {
    return this.#list.tensors
  }

  graph({ nodes, initializers, sparseInitializers }: OnnxBodyMessage, outputs: readonly string[]): OnnxGraph {
    const constants = new Map<string, StoredTensor>()
    const add = (tensor: StoredTensor, isListed: boolean) => {
      constants.set(tensor.name, tensor)
      if (isListed) this.#list.add(tensor)
    }
    for (const tensor of initializers) add(this.#stored(tensor.name, tensor), true)
    for (const sparse of sparseInitializers) add(this.#dense(sparse.values.name, sparse), true)
    const inner = new Map<OnnxAttribute, OnnxGraph>()
    const own: OnnxNodeMessage[] = []
    for (const node of nodes) {
      for (const attribute of node.attributes.values()) {
        if (attribute.graph !== undefined) inner.set(attribute, this.graph(attribute.graph, namesOf(attribute.graph)))
      }
      const value =
        node.opType === 'Constant' ? VALUES.flatMap((name) => node.attributes.get(name) ?? [])[0] : undefined
      const tensor = value && this.tensorOf(node.outputs[0] ?? '', value)
      // Shapes, axes and fill values are small, and integers or scalars.
      if (tensor !== undefined) add(tensor, tensor.shape.length > 1 || (tensor.shape.length === 1 && isFloat(tensor)))
      else own.push(node)
    }
    return { nodes: own, constants, outputs, inner }
  }

  tensorOf(name: string, attribute: OnnxAttribute): StoredTensor | undefined {
    const { tensor, sparse, floatCount, intCount, f, i, message } = attribute
    if (tensor !== undefined) return this.#stored(name, tensor)
    if (sparse !== undefined) return this.#dense(name, sparse)
    if (floatCount > 0) {
      const read = async () => (await this.#elements.readLists(message)).floats
      return { name, shape: [floatCount], dtype: 'float32', read }
    }
    const ints = async () => (await this.#elements.readLists(message)).ints
    if (intCount > 0) return integerTensor(name, [intCount], ints)
    if (f !== undefined) return { name, shape: [], dtype: 'float32', read: async () => Float32Array.of(f) }
    return i === undefined ? undefined : integerTensor(name, [], async () => [i])
  }

  #stored(name: string, tensor: OnnxTensor): StoredTensor {
    return {
      name,
      shape: tensor.dims,
      dtype: dataTypeInWords(tensor.dataType),
      read: () => this.#elements.read(name, tensor),
      integers: () => this.#elements.readIntegers(name, tensor),
    }
  }

  #dense(name: string, { values, indices, dims }: OnnxSparseTensor): StoredTensor {
    const path = this.#source.name
    const read = async () => {
      const most = (LARGEST_GROWTH * this.#source.size + FREE_BYTES) / 4
      const count = checkedCount(path, name, dims, most)
      const elements = await this.#elements.read(name, values)
      const places = await this.#elements.readIntegers(name, indices)
      const strides = indices.dims.length === 2 ? rowMajorStrides(dims) : [1]
      if (places.length !== elements.length * strides.length)
        throw corrupt(path, `${name} has other indices than values`)
      const dense = zerosLike(elements, count)
      for (const [k, element] of elements.entries()) {
        const place = strides.reduce((sum, stride, axis) => sum + stride * (places[k * strides.length + axis] ?? 0), 0)
        if (!(place >= 0 && place < count)) throw corrupt(path, `${name} has an index of ${place}`)
        dense[place] = element
      }
      return dense
    }
    return { name, shape: dims, dtype: dataTypeInWords(values.dataType), read }
  }
}

function namesOf({ outputs }: OnnxGraphMessage): string[] {
  return outputs.map(({ name }) => name)
}

function isFloat({ dtype }: StoredTensor): boolean {
  return dtype.includes('float')
}

function integerTensor(
  name: string,
  shape: readonly number[],
  integers: () => Promise<readonly number[]>,
): StoredTensor {
  const read = () => Promise.reject(new TypeError(`${name} is of integers`))
  return { name, shape, dtype: 'int64', read, integers }
}
