import { memorySource } from '@cudnn-rnn/checkpoint'
import {
  dataTypeInWords,
  type Elements,
  type ElementTypeName,
  ExternalFiles,
  newElements,
  OnnxElements,
  type OnnxModelMessage,
  type OnnxTensor,
  scanOnnxModel,
} from '@cudnn-rnn/interop/internal'
import { codedError } from '../coded_error.js'
import { type Known, sameAtAll } from './known_value.js'
import { isShort } from './node_values.js'

/** An ONNX file in memory. */
export class GraphFile {
  readonly path: string
  readonly bytes: Uint8Array
  readonly model: OnnxModelMessage
  readonly #elements: OnnxElements

  private constructor(path: string, bytes: Uint8Array, model: OnnxModelMessage) {
    this.path = path
    this.bytes = bytes
    this.model = model
    this.#elements = new OnnxElements(memorySource(path, bytes), new ExternalFiles(path, false))
  }

  /** Throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED`; Error `ERR_GRAPH_UNSUPPORTED`. */
  static async open(path: string, bytes: Uint8Array): Promise<GraphFile> {
    const model = await scanOnnxModel(memorySource(path, bytes), () => true)
    const { initializers, sparseInitializers } = model.graph
    const outside = initializers.find(({ external }) => external !== undefined)
    if (outside !== undefined) throw unsupported(path, `${outside.name} is in another file`)
    if (sparseInitializers.length > 0) throw unsupported(path, 'it has sparse tensors')
    return new GraphFile(path, bytes, model)
  }

  /** The type and shape of a tensor of the file, at so many choices, with the elements of a short one. */
  async known(tensor: OnnxTensor, choices: number): Promise<Known | undefined> {
    const type = dataTypeInWords(tensor.dataType) as ElementTypeName
    if (newElements(type, 0) === undefined) return undefined
    const { name, dims: shape } = tensor
    const isRead = isShort(shape) && tensor.external === undefined
    const elements: Elements | undefined = !isRead
      ? undefined
      : type.includes('float')
        ? await this.#elements.read(name, tensor)
        : await this.#elements.readIntegers(name, tensor)
    return sameAtAll({ type, shape, elements }, choices)
  }
}

function unsupported(path: string, what: string) {
  return codedError(
    'ERR_GRAPH_UNSUPPORTED',
    `Cannot open a graph as its tensors must be in one file: ${what}: ${path}`,
    {
      path,
    },
  )
}
