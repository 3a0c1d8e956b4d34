import { WireType } from '@bufbuild/protobuf/wire'
import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { corrupt } from '../errors.js'
import { type ByteRange, LONGEST_VALUE, type ProtobufField, ProtobufScanner } from './protobuf_scanner.js'

/**
 * The messages of onnx/onnx.proto as far as weights need them: models, graphs, nodes, attributes, and of tensors all but
 * their elements, which stay in the file. Field numbers are beside the fields. A list of numbers may be packed or not:
 * readers must take both.
 */

/** The place of a tensor's elements outside the model, with the keys of `TensorProto.external_data`. */
export type ExternalData = ReadonlyMap<string, string>

/** TensorProto without its elements. */
export interface OnnxTensor {
  readonly name: string
  readonly dims: readonly number[]
  /** TensorProto.DataType. */
  readonly dataType: number
  /** The whole message, with elements that are lists of numbers. */
  readonly message: ByteRange
  /** Elements as bytes. */
  readonly raw: ByteRange | undefined
  /** Elements in another file. */
  readonly external: ExternalData | undefined
}

/** AttributeProto. */
interface OnnxAttribute {
  readonly f?: number
  readonly i?: number
  readonly s?: string
  readonly tensor?: OnnxTensor
  readonly graph?: OnnxGraphMessage
  readonly strings: readonly string[]
}

/** NodeProto. */
export interface OnnxNodeMessage {
  readonly name: string
  readonly opType: string
  readonly domain: string
  /** An optional input that is left out is ''. */
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes: ReadonlyMap<string, OnnxAttribute>
}

/** GraphProto; of the nodes those that `isWanted`. */
export interface OnnxGraphMessage {
  readonly nodes: readonly OnnxNodeMessage[]
  readonly initializers: readonly OnnxTensor[]
}

/** Graphs within graphs (If, Loop, Scan) are few; more are a trap. */
const DEEPEST = 32

/**
 * The graph of a ModelProto.
 *
 * @param isWanted decides by its fields whether a node is kept.
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED` for more nodes than any model has
 */
export async function scanOnnxModel(
  source: ByteSource,
  isWanted: (node: OnnxNodeMessage) => boolean,
): Promise<OnnxGraphMessage> {
  const scan = new OnnxScan(new ProtobufScanner(source), source.name, isWanted)
  const graph = await scan.model({ start: 0, end: source.size })
  if (graph === undefined) throw corrupt(source.name, 'the ONNX model has no graph')
  return graph
}

const NO_ATTRIBUTES: ReadonlyMap<string, OnnxAttribute> = new Map()

class OnnxScan {
  readonly #scanner: ProtobufScanner
  readonly #path: string
  readonly #isWanted: (node: OnnxNodeMessage) => boolean

  constructor(scanner: ProtobufScanner, path: string, isWanted: (node: OnnxNodeMessage) => boolean) {
    this.#scanner = scanner
    this.#path = path
    this.#isWanted = isWanted
  }

  async model(range: ByteRange): Promise<OnnxGraphMessage | undefined> {
    let graph: OnnxGraphMessage | undefined
    await this.#scanner.scan(range, {
      7: async (field) => {
        graph = await this.#graph(field, 0)
      },
    })
    return graph
  }

  async #graph(range: ByteRange, depth: number): Promise<OnnxGraphMessage> {
    if (depth > DEEPEST) throw corrupt(this.#path, `its graphs are more than ${DEEPEST} deep`)
    const nodes: OnnxNodeMessage[] = []
    const initializers: OnnxTensor[] = []
    await this.#scanner.scan(range, {
      1: async (field) => {
        const node = await this.#node(field, depth)
        if (this.#isWanted(node)) nodes.push(node)
      },
      5: async (field) => void initializers.push(await this.#tensor(field)),
    })
    return { nodes, initializers }
  }

  async #node(range: ByteRange, depth: number): Promise<OnnxNodeMessage> {
    const node = { name: '', opType: '', domain: '' }
    const inputs: string[] = []
    const outputs: string[] = []
    const attributes = new Map<string, OnnxAttribute>()
    await this.#scanner.scan(range, {
      1: async (field) => void inputs.push(await this.#scanner.text(field)),
      2: async (field) => void outputs.push(await this.#scanner.text(field)),
      3: async (field) => {
        node.name = await this.#scanner.text(field)
      },
      4: async (field) => {
        node.opType = await this.#scanner.text(field)
      },
      5: async (field) => void attributes.set(...(await this.#attribute(field, depth))),
      7: async (field) => {
        node.domain = await this.#scanner.text(field)
      },
    })
    // Lists grow with room to spare, and an empty map has some too: of thousands of nodes that would be most of their memory.
    return {
      ...node,
      inputs: inputs.slice(),
      outputs: outputs.slice(),
      attributes: attributes.size === 0 ? NO_ATTRIBUTES : attributes,
    }
  }

  async #attribute(range: ByteRange, depth: number): Promise<[name: string, attribute: OnnxAttribute]> {
    let name = ''
    const strings: string[] = []
    const single: { f?: number; i?: number; s?: string; tensor?: OnnxTensor; graph?: OnnxGraphMessage } = {}
    await this.#scanner.scan(range, {
      1: async (field) => {
        name = await this.#scanner.text(field)
      },
      2: async (field) => {
        single.f = await this.#number(field, WireType.Bit32, (reader) => reader.float())
      },
      3: async (field) => {
        single.i = await this.#number(field, WireType.Varint, (reader) => Number(reader.int64()))
      },
      4: async (field) => {
        // Operators of other domains keep whole files in here.
        if (field.end - field.start <= LONGEST_VALUE) single.s = await this.#scanner.text(field)
      },
      5: async (field) => {
        single.tensor = await this.#tensor(field)
      },
      6: async (field) => {
        single.graph = await this.#graph(field, depth + 1)
      },
      9: async (field) => {
        if (field.end - field.start <= LONGEST_VALUE) strings.push(await this.#scanner.text(field))
      },
    })
    return [name, { ...single, strings }]
  }

  async #tensor(message: ByteRange): Promise<OnnxTensor> {
    const dims: number[] = []
    const found: { name: string; dataType: number; raw?: ByteRange; external: Map<string, string> } = {
      name: '',
      dataType: 0,
      external: new Map(),
    }
    let isExternal = false
    await this.#scanner.scan(message, {
      1: async (field) => {
        const reader = await this.#scanner.reader(field)
        while (reader.pos < reader.len) dims.push(Number(reader.int64()))
      },
      2: async (field) => {
        found.dataType = await this.#number(field, WireType.Varint, (reader) => reader.int32())
      },
      8: async (field) => {
        found.name = await this.#scanner.text(field)
      },
      9: ({ start, end }) => {
        found.raw = { start, end }
      },
      13: async (field) => void found.external.set(...(await this.#keyAndValue(field))),
      14: async (field) => {
        isExternal = (await this.#number(field, WireType.Varint, (reader) => reader.int32())) === 1
      },
    })
    const { name, dataType, raw, external } = found
    return { name, dims, dataType, message, raw, external: isExternal ? external : undefined }
  }

  /** StringStringEntryProto. */
  async #keyAndValue(range: ByteRange): Promise<[key: string, value: string]> {
    let [key, value] = ['', '']
    await this.#scanner.scan(range, {
      1: async (field) => {
        key = await this.#scanner.text(field)
      },
      2: async (field) => {
        value = await this.#scanner.text(field)
      },
    })
    return [key, value]
  }

  async #number(
    field: ProtobufField,
    wireType: WireType,
    read: (reader: Awaited<ReturnType<ProtobufScanner['reader']>>) => number,
  ): Promise<number> {
    if (field.wireType !== wireType) throw corrupt(this.#path, 'a number in its messages is something else')
    return read(await this.#scanner.reader(field))
  }
}
