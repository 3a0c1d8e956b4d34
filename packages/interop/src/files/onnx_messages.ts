import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { corrupt } from '../errors.js'

/**
 * The messages of onnx/onnx.proto as far as weights need them: models, graphs, nodes, attributes and tensors. Field numbers
 * stand beside the fields. A list of numbers may be packed or not: readers must take both.
 */

/** TensorProto. */
export interface OnnxTensor {
  readonly name: string
  readonly dims: readonly number[]
  /** TensorProto.DataType. */
  readonly dataType: number
  readonly raw: Uint8Array | undefined
  readonly floats: Float32Array | undefined
  readonly doubles: Float64Array | undefined
  readonly int64s: readonly number[]
  readonly int32s: readonly number[]
  /** The elements lie in another file. */
  readonly isExternal: boolean
}

/** AttributeProto. */
interface OnnxAttribute {
  readonly f?: number
  readonly i?: number
  readonly s?: string
  readonly tensor?: OnnxTensor
  readonly graph?: OnnxGraphMessage
  readonly floats: readonly number[]
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

/** GraphProto. */
export interface OnnxGraphMessage {
  readonly nodes: readonly OnnxNodeMessage[]
  readonly initializers: readonly OnnxTensor[]
}

/** Graphs within graphs (If, Loop, Scan) are few; more are a trap. */
const DEEPEST = 32

/** The graph of a ModelProto. Throws WeightFileError `ERR_WEIGHTS_CORRUPT`. */
export function decodeOnnxModel(path: string, bytes: Uint8Array): OnnxGraphMessage {
  let graph: OnnxGraphMessage | undefined
  decode(path, bytes, {
    7: (reader) => {
      graph = decodeGraph(path, reader.bytes(), 0)
    },
  })
  if (graph === undefined) throw corrupt(path, 'the ONNX model has no graph')
  return graph
}

/** A TensorProto, also one that is a whole file. Throws WeightFileError `ERR_WEIGHTS_CORRUPT`. */
export function decodeOnnxTensor(path: string, bytes: Uint8Array): OnnxTensor {
  const dims: number[] = []
  const floats: number[] = []
  const doubles: number[] = []
  const int64s: number[] = []
  const int32s: number[] = []
  let name = ''
  let dataType = 0
  let raw: Uint8Array | undefined
  let isExternal = false
  decode(path, bytes, {
    1: (reader, wire) => numbers(reader, wire, WireType.Varint, () => dims.push(Number(reader.int64()))),
    2: (reader) => {
      dataType = reader.int32()
    },
    4: (reader, wire) => numbers(reader, wire, WireType.Bit32, () => floats.push(reader.float())),
    5: (reader, wire) => numbers(reader, wire, WireType.Varint, () => int32s.push(reader.int32())),
    7: (reader, wire) => numbers(reader, wire, WireType.Varint, () => int64s.push(Number(reader.int64()))),
    8: (reader) => {
      name = reader.string()
    },
    9: (reader) => {
      raw = reader.bytes()
    },
    10: (reader, wire) => numbers(reader, wire, WireType.Bit64, () => doubles.push(reader.double())),
    14: (reader) => {
      isExternal = reader.int32() === 1
    },
  })
  return {
    name,
    dims,
    dataType,
    raw,
    floats: floats.length === 0 ? undefined : Float32Array.from(floats),
    doubles: doubles.length === 0 ? undefined : Float64Array.from(doubles),
    int64s,
    int32s,
    isExternal,
  }
}

function decodeGraph(path: string, bytes: Uint8Array, depth: number): OnnxGraphMessage {
  if (depth > DEEPEST) throw corrupt(path, `its graphs are more than ${DEEPEST} deep`)
  const nodes: OnnxNodeMessage[] = []
  const initializers: OnnxTensor[] = []
  decode(path, bytes, {
    1: (reader) => nodes.push(decodeNode(path, reader.bytes(), depth)),
    5: (reader) => initializers.push(decodeOnnxTensor(path, reader.bytes())),
  })
  return { nodes, initializers }
}

function decodeNode(path: string, bytes: Uint8Array, depth: number): OnnxNodeMessage {
  const node = { name: '', opType: '', domain: '' }
  const inputs: string[] = []
  const outputs: string[] = []
  const attributes = new Map<string, OnnxAttribute>()
  decode(path, bytes, {
    1: (reader) => inputs.push(reader.string()),
    2: (reader) => outputs.push(reader.string()),
    3: (reader) => {
      node.name = reader.string()
    },
    4: (reader) => {
      node.opType = reader.string()
    },
    5: (reader) => {
      const [name, attribute] = decodeAttribute(path, reader.bytes(), depth)
      attributes.set(name, attribute)
    },
    7: (reader) => {
      node.domain = reader.string()
    },
  })
  return { ...node, inputs, outputs, attributes }
}

function decodeAttribute(path: string, bytes: Uint8Array, depth: number): readonly [string, OnnxAttribute] {
  let name = ''
  const floats: number[] = []
  const strings: string[] = []
  const single: { f?: number; i?: number; s?: string; tensor?: OnnxTensor; graph?: OnnxGraphMessage } = {}
  decode(path, bytes, {
    1: (reader) => {
      name = reader.string()
    },
    2: (reader) => {
      single.f = reader.float()
    },
    3: (reader) => {
      single.i = Number(reader.int64())
    },
    4: (reader) => {
      single.s = new TextDecoder().decode(reader.bytes())
    },
    5: (reader) => {
      single.tensor = decodeOnnxTensor(path, reader.bytes())
    },
    6: (reader) => {
      single.graph = decodeGraph(path, reader.bytes(), depth + 1)
    },
    7: (reader, wire) => numbers(reader, wire, WireType.Bit32, () => floats.push(reader.float())),
    9: (reader) => strings.push(new TextDecoder().decode(reader.bytes())),
  })
  return [name, { ...single, floats, strings }]
}

type Fields = Readonly<Record<number, (reader: BinaryReader, wireType: WireType) => unknown>>

/** Walks the fields of a message; those without an entry are skipped. */
function decode(path: string, bytes: Uint8Array, fields: Fields): void {
  try {
    const reader = new BinaryReader(bytes)
    while (reader.pos < reader.len) {
      const [field, wireType] = reader.tag()
      const read = fields[field]
      if (read === undefined) reader.skip(wireType, field)
      else read(reader, wireType)
    }
    if (reader.pos !== reader.len) throw new RangeError('a field is longer than its message')
  } catch (cause) {
    throw cause instanceof Error && 'code' in cause ? cause : corrupt(path, 'its ONNX messages are damaged', cause)
  }
}

/** One number, or as many as a packed field holds. */
function numbers(reader: BinaryReader, wireType: WireType, single: WireType, read: () => void): void {
  if (wireType === single) {
    read()
    return
  }
  const end = reader.uint32() + reader.pos
  if (end > reader.len) throw new RangeError('a packed field is longer than its message')
  while (reader.pos < end) read()
}
