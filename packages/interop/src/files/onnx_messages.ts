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
interface OnnxFunctionMessage extends OnnxBodyMessage {
  readonly name: string
  readonly domain: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  /** Attributes that a call may leave out. */
  readonly defaults: ReadonlyMap<string, OnnxAttribute>
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

  constructor(scanner: ProtobufScanner, path: string, isWanted: (node: OnnxNodeMessage) => boolean) {
    this.#scanner = scanner
    this.#path = path
    this.#isWanted = isWanted
  }

  async model(range: ByteRange): Promise<OnnxModelMessage> {
    let graph: OnnxGraphMessage | undefined
    let irVersion = 0
    const functions: OnnxFunctionMessage[] = []
    const copied: (ByteRange & { field: number })[] = []
    await this.#scanner.scan(range, {
      1: async (field) => {
        irVersion = await this.#number(field, WireType.Varint, (reader) => Number(reader.int64()))
      },
      7: async (field) => {
        graph = await this.#graph(field, 0)
      },
      8: ({ start, end }) => void copied.push({ field: 8, start, end }),
      25: async (field) => {
        functions.push(await this.#function(field))
        copied.push({ field: 25, start: field.start, end: field.end })
      },
    })
    if (graph === undefined) throw corrupt(this.#path, 'the ONNX model has no graph')
    return { graph, functions, irVersion, copied }
  }

  async #graph(range: ByteRange, depth: number): Promise<OnnxGraphMessage> {
    if (depth > DEEPEST) throw corrupt(this.#path, `its graphs are more than ${DEEPEST} deep`)
    const nodes: OnnxNodeMessage[] = []
    const initializers: OnnxTensor[] = []
    const sparseInitializers: OnnxSparseTensor[] = []
    const [inputs, outputs]: [OnnxValueMessage[], OnnxValueMessage[]] = [[], []]
    await this.#scanner.scan(range, {
      1: (field) => this.#keepNode(nodes, field, depth),
      5: async (field) => void initializers.push(await this.#tensor(field)),
      11: async (field) => void inputs.push(await this.#value(field)),
      12: async (field) => void outputs.push(await this.#value(field)),
      15: async (field) => void sparseInitializers.push(await this.#sparseTensor(field)),
    })
    return { nodes, initializers, sparseInitializers, inputs, outputs }
  }

  /** A value, with the type of a tensor (TypeProto.Tensor, TensorShapeProto). */
  async #value(range: ByteRange): Promise<OnnxValueMessage> {
    const value: { name: string; dataType: number; dims?: (number | string)[] } = { name: '', dataType: 0 }
    const dimension = async (field: ByteRange) => {
      let size: number | string = ''
      await this.#scanner.scan(field, {
        1: async (number) => {
          size = await this.#number(number, WireType.Varint, (reader) => Number(reader.int64()))
        },
        2: async (name) => {
          size = await this.#scanner.text(name)
        },
      })
      value.dims?.push(size)
    }
    const shape = async (field: ByteRange) => {
      value.dims = []
      await this.#scanner.scan(field, { 1: dimension })
    }
    const tensor = (field: ByteRange) =>
      this.#scanner.scan(field, {
        1: async (type) => {
          value.dataType = await this.#number(type, WireType.Varint, (reader) => reader.int32())
        },
        2: shape,
      })
    await this.#scanner.scan(range, {
      1: async (field) => {
        value.name = await this.#scanner.text(field)
      },
      2: (field) => this.#scanner.scan(field, { 1: tensor }),
    })
    return { dims: undefined, ...value }
  }

  async #function(range: ByteRange): Promise<OnnxFunctionMessage> {
    const found = { name: '', domain: '' }
    const nodes: OnnxNodeMessage[] = []
    const [inputs, outputs]: [string[], string[]] = [[], []]
    const defaults = new Map<string, OnnxAttribute>()
    await this.#scanner.scan(range, {
      1: async (field) => {
        found.name = await this.#scanner.text(field)
      },
      4: async (field) => void inputs.push(await this.#scanner.text(field)),
      5: async (field) => void outputs.push(await this.#scanner.text(field)),
      7: (field) => this.#keepNode(nodes, field, 0),
      10: async (field) => {
        found.domain = await this.#scanner.text(field)
      },
      11: async (field) => void defaults.set(...(await this.#attribute(field, 0))),
    })
    return { ...found, inputs, outputs, nodes, defaults, initializers: [], sparseInitializers: [] }
  }

  async #keepNode(nodes: OnnxNodeMessage[], field: ByteRange, depth: number): Promise<void> {
    const node = await this.#node(field, depth)
    if (!this.#isWanted(node)) return
    if (++this.#kept > MOST_NODES) {
      throw unsupported(this.#path, `it must have at most ${MOST_NODES} recurrent nodes and nodes that shape constants`)
    }
    nodes.push(node)
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
    const single: Partial<{ -readonly [Key in keyof OnnxAttribute]: OnnxAttribute[Key] }> = {}
    let [floatCount, intCount] = [0, 0]
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
      // Lists of numbers are packed or not.
      7: ({ wireType, start, end }) => {
        floatCount += wireType === WireType.LengthDelimited ? Math.floor((end - start) / 4) : 1
      },
      8: async (field) => {
        const reader = await this.#scanner.reader(field)
        for (; reader.pos < reader.len; intCount++) reader.int64()
      },
      9: async (field) => {
        if (field.end - field.start <= LONGEST_VALUE) strings.push(await this.#scanner.text(field))
      },
      21: async (field) => {
        single.reference = await this.#scanner.text(field)
      },
      22: async (field) => {
        single.sparse = await this.#sparseTensor(field)
      },
    })
    return [name, { ...single, strings, floatCount, intCount, message: { start: range.start, end: range.end } }]
  }

  async #sparseTensor(range: ByteRange): Promise<OnnxSparseTensor> {
    const dims: number[] = []
    const parts: { values?: OnnxTensor; indices?: OnnxTensor } = {}
    await this.#scanner.scan(range, {
      1: async (field) => {
        parts.values = await this.#tensor(field)
      },
      2: async (field) => {
        parts.indices = await this.#tensor(field)
      },
      3: async (field) => {
        const reader = await this.#scanner.reader(field)
        while (reader.pos < reader.len) dims.push(Number(reader.int64()))
      },
    })
    const { values, indices } = parts
    if (values === undefined || indices === undefined) throw corrupt(this.#path, 'a sparse tensor has no values')
    return { values, indices, dims }
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
