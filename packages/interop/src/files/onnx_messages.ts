import { WireType } from '@bufbuild/protobuf/wire'
import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { corrupt, unsupported } from '../errors.js'
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

/** SparseTensorProto: `values` [N] are at `indices` [N], or [N,rank], of a tensor of zeros. */
export interface OnnxSparseTensor {
  readonly values: OnnxTensor
  readonly indices: OnnxTensor
  readonly dims: readonly number[]
}

/** AttributeProto. */
export interface OnnxAttribute {
  readonly f?: number
  readonly i?: number
  readonly s?: string
  readonly tensor?: OnnxTensor
  readonly sparse?: OnnxSparseTensor
  readonly graph?: OnnxGraphMessage
  readonly strings: readonly string[]
  /** How many numbers its lists `floats` and `ints` have. */
  readonly floatCount: number
  readonly intCount: number
  /** The whole message, in which these lists stay. */
  readonly message: ByteRange
  /** The attribute of the call of a function that it stands for. */
  readonly reference?: string
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

/** ValueInfoProto of a tensor. */
export interface OnnxValueMessage {
  readonly name: string
  /** TensorProto.DataType, 0 if it is not a tensor. */
  readonly dataType: number
  /** A size that the file leaves open is its name, '' without one; undefined without a shape. */
  readonly dims: readonly (number | string)[] | undefined
}

/** Nodes and constants; of the nodes those that `isWanted`. */
export interface OnnxBodyMessage {
  readonly nodes: readonly OnnxNodeMessage[]
  readonly initializers: readonly OnnxTensor[]
  readonly sparseInitializers: readonly OnnxSparseTensor[]
}

/** GraphProto. */
export interface OnnxGraphMessage extends OnnxBodyMessage {
  readonly inputs: readonly OnnxValueMessage[]
  readonly outputs: readonly OnnxValueMessage[]
}

/** FunctionProto, whose body is a graph with parameters. */
export interface OnnxFunctionMessage
  extends OnnxBodyMessage,
    Pick<OnnxNodeMessage, 'name' | 'domain' | 'inputs' | 'outputs'> {
  /** Attributes that a call may leave out. */
  readonly defaults: ReadonlyMap<string, OnnxAttribute>
  readonly message: ByteRange
}

/** ModelProto. */
export interface OnnxModelMessage {
  readonly graph: OnnxGraphMessage
  readonly functions: readonly OnnxFunctionMessage[]
  readonly irVersion: number
  /** The whole messages of functions and of imported operator sets, for a copy of the model, by their fields. */
  readonly copied: readonly (ByteRange & { readonly field: number })[]
}

/** Graphs within graphs (If, Loop, Scan) are few; more are a trap. */
const DEEPEST = 32
/** Nodes that are kept; each takes some hundred bytes. */
const MOST_NODES = 2 ** 17

/**
 * A ModelProto: its graph and its functions.
 *
 * @param isWanted decides by its fields whether a node is kept.
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED` for more nodes than any model has
 */
export async function scanOnnxModel(
  source: ByteSource,
  isWanted: (node: OnnxNodeMessage) => boolean,
): Promise<OnnxModelMessage> {
  return new OnnxScan(new ProtobufScanner(source), source.name, isWanted).model({ start: 0, end: source.size })
}

const NO_ATTRIBUTES: ReadonlyMap<string, OnnxAttribute> = new Map()

class OnnxScan {
  readonly #scanner: ProtobufScanner
  readonly #path: string
  readonly #isWanted: (node: OnnxNodeMessage) => boolean
  #kept = 0
  /** Graphs around the one that is read. */
  #depth = 0

  constructor(scanner: ProtobufScanner, path: string, isWanted: (node: OnnxNodeMessage) => boolean) {
    this.#scanner = scanner
    this.#path = path
    this.#isWanted = isWanted
  }

  readonly #text = (field: ProtobufField) => this.#scanner.text(field)
  /** Operators of other domains keep whole files in texts. */
  readonly #shortText = (field: ProtobufField) => (lengthOf(field) <= LONGEST_VALUE ? this.#text(field) : undefined)
  readonly #int32 = (field: ProtobufField) => this.#scanner.number(field, WireType.Varint, (reader) => reader.int32())
  readonly #int64 = (field: ProtobufField) =>
    this.#scanner.number(field, WireType.Varint, (reader) => Number(reader.int64()))
  readonly #float = (field: ProtobufField) => this.#scanner.number(field, WireType.Bit32, (reader) => reader.float())
  /** The numbers of a field, which is packed or not. */
  readonly #int64s = async (field: ProtobufField) => {
    const numbers: number[] = []
    const reader = await this.#scanner.reader(field)
    while (reader.pos < reader.len) numbers.push(Number(reader.int64()))
    return numbers
  }

  readonly #modelRows = {
    irVersion: [1, this.#int64],
    graph: [7, (field: ProtobufField) => this.#graph(field)],
    opsets: [8, ({ start, end }: ProtobufField) => ({ field: 8, start, end }), 'each'],
    functions: [25, (field: ProtobufField) => this.#function(field), 'each'],
  } as const

  async model(range: ByteRange): Promise<OnnxModelMessage> {
    const { irVersion = 0, graph, opsets, functions } = await this.#scanner.message(range, this.#modelRows)
    if (graph === undefined) throw corrupt(this.#path, 'the ONNX model has no graph')
    const copied = [...opsets, ...functions.map(({ message: { start, end } }) => ({ field: 25, start, end }))]
    return { graph, functions, irVersion, copied }
  }

  readonly #graphRows = {
    nodes: [1, (field: ProtobufField) => this.#keptNode(field), 'each'],
    initializers: [5, (field: ProtobufField) => this.#tensor(field), 'each'],
    inputs: [11, (field: ProtobufField) => this.#value(field), 'each'],
    outputs: [12, (field: ProtobufField) => this.#value(field), 'each'],
    sparseInitializers: [15, (field: ProtobufField) => this.#sparseTensor(field), 'each'],
  } as const

  async #graph(range: ByteRange): Promise<OnnxGraphMessage> {
    if (this.#depth > DEEPEST) throw corrupt(this.#path, `its graphs are more than ${DEEPEST} deep`)
    return this.#scanner.message(range, this.#graphRows)
  }

  readonly #dimensionRows = { size: [1, this.#int64], name: [2, this.#text] } as const
  readonly #dimension = async (field: ByteRange) => {
    const { size, name = '' } = await this.#scanner.message(field, this.#dimensionRows)
    return size ?? name
  }
  readonly #shapeRows = { dims: [1, this.#dimension, 'each'] } as const
  readonly #tensorTypeRows = {
    dataType: [1, this.#int32],
    shape: [2, (field: ByteRange) => this.#scanner.message(field, this.#shapeRows)],
  } as const
  readonly #typeRows = {
    tensor: [1, (field: ByteRange) => this.#scanner.message(field, this.#tensorTypeRows)],
  } as const
  readonly #valueRows = {
    name: [1, this.#text],
    type: [2, (field: ByteRange) => this.#scanner.message(field, this.#typeRows)],
  } as const

  /** A value, with the type of a tensor (TypeProto.Tensor, TensorShapeProto). */
  async #value(range: ByteRange): Promise<OnnxValueMessage> {
    const { name = '', type } = await this.#scanner.message(range, this.#valueRows)
    const { dataType = 0, shape } = type?.tensor ?? {}
    return { name, dataType, dims: shape?.dims }
  }

  readonly #functionRows = {
    name: [1, this.#text],
    inputs: [4, this.#text, 'each'],
    outputs: [5, this.#text, 'each'],
    nodes: [7, (field: ProtobufField) => this.#keptNode(field), 'each'],
    domain: [10, this.#text],
    defaults: [11, (field: ProtobufField) => this.#attribute(field), 'each'],
  } as const

  async #function(message: ByteRange): Promise<OnnxFunctionMessage> {
    const { defaults, name = '', domain = '', ...lists } = await this.#scanner.message(message, this.#functionRows)
    return { ...lists, name, domain, defaults: new Map(defaults), initializers: [], sparseInitializers: [], message }
  }

  /** A node, undefined if it is not wanted. */
  async #keptNode(field: ByteRange): Promise<OnnxNodeMessage | undefined> {
    const node = await this.#node(field)
    if (!this.#isWanted(node)) return undefined
    if (++this.#kept > MOST_NODES) {
      throw unsupported(this.#path, `it must have at most ${MOST_NODES} recurrent nodes and nodes that shape constants`)
    }
    return node
  }

  readonly #nodeRows = {
    inputs: [1, this.#text, 'each'],
    outputs: [2, this.#text, 'each'],
    name: [3, this.#text],
    opType: [4, this.#text],
    attributes: [5, (field: ProtobufField) => this.#attribute(field), 'each'],
    domain: [7, this.#text],
  } as const

  async #node(range: ByteRange): Promise<OnnxNodeMessage> {
    const { attributes, inputs, outputs, ...texts } = await this.#scanner.message(range, this.#nodeRows)
    const { name = '', opType = '', domain = '' } = texts
    // Lists grow with room to spare, and an empty map has some too: of thousands of nodes that would be most of their memory.
    return {
      ...{ name, opType, domain, inputs: inputs.slice(), outputs: outputs.slice() },
      attributes: attributes.length === 0 ? NO_ATTRIBUTES : new Map(attributes),
    }
  }

  readonly #attributeRows = {
    name: [1, this.#text],
    f: [2, this.#float],
    i: [3, this.#int64],
    s: [4, this.#shortText],
    tensor: [5, (field: ProtobufField) => this.#tensor(field)],
    graph: [6, (field: ProtobufField) => this.#innerGraph(field)],
    // Lists of numbers are packed or not.
    floatCount: [
      7,
      (field: ProtobufField) => (field.wireType === WireType.LengthDelimited ? Math.floor(lengthOf(field) / 4) : 1),
      'sum',
    ],
    intCount: [8, async (field: ProtobufField) => (await this.#int64s(field)).length, 'sum'],
    strings: [9, this.#shortText, 'each'],
    reference: [21, this.#text],
    sparse: [22, (field: ProtobufField) => this.#sparseTensor(field)],
  } as const

  async #attribute({ start, end }: ByteRange): Promise<[name: string, attribute: OnnxAttribute]> {
    const { name = '', ...members } = await this.#scanner.message({ start, end }, this.#attributeRows)
    return [name, { ...members, message: { start, end } }]
  }

  async #innerGraph(field: ByteRange): Promise<OnnxGraphMessage> {
    this.#depth++
    const graph = await this.#graph(field)
    this.#depth--
    return graph
  }

  readonly #sparseRows = {
    values: [1, (field: ProtobufField) => this.#tensor(field)],
    indices: [2, (field: ProtobufField) => this.#tensor(field)],
    dims: [3, this.#int64s, 'each'],
  } as const

  async #sparseTensor(range: ByteRange): Promise<OnnxSparseTensor> {
    const { values, indices, dims } = await this.#scanner.message(range, this.#sparseRows)
    if (values === undefined || indices === undefined) throw corrupt(this.#path, 'a sparse tensor has no values')
    return { values, indices, dims: dims.flat() }
  }

  /** StringStringEntryProto. */
  readonly #entryRows = { key: [1, this.#text], value: [2, this.#text] } as const
  readonly #tensorRows = {
    dims: [1, this.#int64s, 'each'],
    dataType: [2, this.#int32],
    name: [8, this.#text],
    raw: [9, ({ start, end }: ProtobufField) => ({ start, end })],
    entries: [13, (field: ProtobufField) => this.#scanner.message(field, this.#entryRows), 'each'],
    location: [14, this.#int32],
  } as const

  async #tensor(message: ByteRange): Promise<OnnxTensor> {
    const { dims, entries, location, ...found } = await this.#scanner.message(message, this.#tensorRows)
    const { name = '', dataType = 0, raw } = found
    const external = location === 1 ? new Map(entries.map(({ key = '', value = '' }) => [key, value])) : undefined
    return { name, dims: dims.flat(), dataType, message, raw, external }
  }
}

function lengthOf({ start, end }: ByteRange): number {
  return end - start
}
