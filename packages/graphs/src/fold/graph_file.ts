import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { codedError } from '@cudnn-rnn/canonical/rules'
import { type ByteSource, memorySource } from '@cudnn-rnn/checkpoint'
import {
  dataTypeInWords,
  type ElementTypeName,
  ExternalFiles,
  encodeTensorProto,
  newElements,
  OnnxElements,
  type OnnxGraphMessage,
  type OnnxModelMessage,
  type OnnxTensor,
  type OnnxValueMessage,
  scanOnnxModel,
} from '@cudnn-rnn/interop/internal'
import { type Known, sameAtAll, UNKNOWN } from './known_value.js'
import { isShort } from './node_values.js'

/** ONNX Runtime reads a message of fewer bytes. */
const MOST_BYTES = 2 ** 31
/** Tensors may share bytes of another file, but together have at most so many times those of all files. */
const MOST_SHARED = 2

/** An ONNX file in memory. */
export class GraphFile {
  readonly path: string
  /** The file, and behind it its tensors of other files. */
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

  /**
   * @param isPath whether the files beside it can be read.
   * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED`, `ERR_WEIGHTS_NOT_FOUND`; Error `ERR_GRAPH_UNSUPPORTED`
   */
  static async open(source: ByteSource, isPath: boolean): Promise<GraphFile> {
    const path = source.name
    const bytes = await source.read(0, source.size)
    const model = await scanOnnxModel(memorySource(path, bytes), () => true)
    const refuse = (rule: string) =>
      codedError('ERR_GRAPH_UNSUPPORTED', `Cannot open a graph as ${rule}: ${path}`, { path })
    if (model.graph.sparseInitializers.length > 0) throw refuse('its tensors must not be sparse')
    if (tensorsOfNodes(model.graph).some(({ external }) => external !== undefined))
      throw refuse('tensors of nodes and branches must not be in another file')
    const files = new ExternalFiles(path, isPath)
    const elements = new OnnxElements(memorySource(path, bytes), files)
    const writer = new BinaryWriter().raw(bytes)
    let end = bytes.length
    const initializers: OnnxTensor[] = []
    try {
      for (const tensor of model.graph.initializers) {
        const { name, dims, dataType, external } = tensor
        if (external === undefined) {
          initializers.push(tensor)
          continue
        }
        const raw = await elements.readOutside(name, tensor, external)
        const message = encodeTensorProto(name, dataType, dims, raw)
        const start = end
        end += message.length
        if (end > MOST_SHARED * (files.heldBytes + bytes.length) || end >= MOST_BYTES)
          throw refuse(
            `its tensors must have fewer bytes than 2 GiB, and at most ${MOST_SHARED} times those of its files`,
          )
        writer.raw(message)
        initializers.push({
          ...tensor,
          external: undefined,
          message: { start, end },
          raw: { start: end - raw.length, end },
        })
      }
    } finally {
      await files.close()
    }
    const graph = { ...model.graph, initializers }
    return new GraphFile(path, end === bytes.length ? bytes : writer.finish(), { ...model, graph })
  }

  /** The type and shape of a tensor of the file, with the elements of a short one. */
  async known(tensor: OnnxTensor): Promise<Known> {
    const type = dataTypeInWords(tensor.dataType) as ElementTypeName
    if (newElements(type, 0) === undefined) return UNKNOWN
    const { name, dims: shape } = tensor
    const read = type.includes('float') ? 'read' : 'readIntegers'
    return sameAtAll({ type, shape, elements: isShort(shape) ? await this.#elements[read](name, tensor) : undefined })
  }
}

/** The tensors of attributes and of graphs within nodes. */
function tensorsOfNodes({ nodes }: OnnxGraphMessage): OnnxTensor[] {
  const attributes = nodes.flatMap((node) => [...node.attributes.values()])
  return attributes.flatMap(({ tensor, graph }) => [
    ...(tensor === undefined ? [] : [tensor]),
    ...(graph === undefined ? [] : [...graph.initializers, ...tensorsOfNodes(graph)]),
  ])
}
