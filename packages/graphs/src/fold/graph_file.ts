import { type ByteSource, memorySource } from '@cudnn-rnn/checkpoint'
import {
  dataTypeInWords,
  type ElementTypeName,
  ExternalFiles,
  newElements,
  OnnxElements,
  type OnnxModelMessage,
  type OnnxTensor,
  type OnnxValueMessage,
  scanOnnxModel,
} from '@cudnn-rnn/interop/internal'
import { codedError } from '../coded_error.js'
import { type Known, sameAtAll, UNKNOWN } from './known_value.js'
import { isShort } from './node_values.js'

/** An ONNX file in memory. */
export class GraphFile {
  readonly path: string
  readonly bytes: Uint8Array
  readonly model: OnnxModelMessage
  /** Inputs that are not constants of the file too. */
  readonly inputs: readonly OnnxValueMessage[]
  readonly #elements: OnnxElements

  private constructor(path: string, bytes: Uint8Array, model: OnnxModelMessage) {
    this.path = path
    this.bytes = bytes
    this.model = model
    const stored = new Set(model.graph.initializers.map(({ name }) => name))
    this.inputs = model.graph.inputs.filter(({ name }) => !stored.has(name))
    this.#elements = new OnnxElements(memorySource(path, bytes), new ExternalFiles(path, false))
  }

  /** Throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED`; Error `ERR_GRAPH_UNSUPPORTED`. */
  static async open(source: ByteSource): Promise<GraphFile> {
    const path = source.name
    const bytes = await source.read(0, source.size)
    const model = await scanOnnxModel(memorySource(path, bytes), () => true)
    const { initializers, sparseInitializers } = model.graph
    const outside = initializers.find(({ external }) => external !== undefined)
    const what = outside === undefined ? 'it has sparse tensors' : `${outside.name} is in another file`
    if (outside === undefined && sparseInitializers.length === 0) return new GraphFile(path, bytes, model)
    const message = `Cannot open a graph as its tensors must be in one file: ${what}: ${path}`
    throw codedError('ERR_GRAPH_UNSUPPORTED', message, { path })
  }

  /** The type and shape of a tensor of the file, with the elements of a short one. */
  async known(tensor: OnnxTensor): Promise<Known> {
    const type = dataTypeInWords(tensor.dataType) as ElementTypeName
    if (newElements(type, 0) === undefined) return UNKNOWN
    const { name, dims: shape } = tensor
    const read = type.includes('float') ? 'read' : 'readIntegers'
    const isRead = isShort(shape) && tensor.external === undefined
    return sameAtAll({ type, shape, elements: isRead ? await this.#elements[read](name, tensor) : undefined })
  }
}
