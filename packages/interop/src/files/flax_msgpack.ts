import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { Decoder, Encoder, ExtensionCodec } from '@msgpack/msgpack'
import { checkedCount, decodeElements, ELEMENT_TYPES, type ElementTypeName } from '../elements.js'
import { corrupt, unsupported } from '../errors.js'
import type { StoredTensor, WeightFile } from '../weight_file.js'

/**
 * What `flax.serialization.to_bytes` writes: MessagePack maps of parameters, whose arrays are extension values of type 1,
 * each again MessagePack: (shape, dtype name, raw elements). Source: flax/serialization.py.
 */
const ARRAY_EXTENSION = 1

/** Parameters are a few modules deep; more is a trap. */
const DEEPEST = 64

class FlaxArray {
  constructor(
    readonly shape: readonly number[],
    readonly dtype: string,
    readonly bytes: Uint8Array,
  ) {}
}

/** Opens a Flax msgpack file; names are joined by `/`. Throws WeightFileError `ERR_WEIGHTS_CORRUPT`. */
export async function openFlax(source: ByteSource): Promise<WeightFile> {
  const path = source.name
  const tensors: StoredTensor[] = []
  const visit = (prefix: string, value: unknown, depth: number): void => {
    if (depth > DEEPEST) throw corrupt(path, `its maps are more than ${DEEPEST} deep`)
    if (value instanceof FlaxArray) tensors.push(storedTensor(path, prefix, value))
    else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const [key, item] of Object.entries(value)) visit(prefix === '' ? key : `${prefix}/${key}`, item, depth + 1)
    }
  }
  visit('', decode(path, await source.read(0, source.size)), 0)
  return { format: 'flax', path, tensors, close: () => source.close() }
}

/** A Flax msgpack file of tensors whose names are joined by `/`. */
export function encodeFlax(tensors: Readonly<Record<string, Tensor<FloatArray>>>): Uint8Array {
  const root: Record<string, unknown> = {}
  for (const [name, tensor] of Object.entries(tensors)) {
    const segments = name.split('/')
    const own = segments.pop()!
    let module = root
    for (const segment of segments) {
      module[segment] ??= {}
      module = module[segment] as Record<string, unknown>
    }
    const { data, shape } = tensor
    const dtype = data instanceof Float64Array ? 'float64' : 'float32'
    module[own] = new FlaxArray(shape, dtype, new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
  }
  return new Encoder({ extensionCodec: codec('(bytes)') }).encode(root)
}

function codec(path: string): ExtensionCodec {
  const extensions = new ExtensionCodec()
  extensions.register({
    type: ARRAY_EXTENSION,
    encode: (value) =>
      value instanceof FlaxArray ? new Encoder().encode([[...value.shape], value.dtype, value.bytes]) : null,
    decode: (bytes) => {
      const [shape, dtype, raw] = new Decoder().decode(bytes) as [unknown, unknown, unknown]
      if (!Array.isArray(shape) || typeof dtype !== 'string' || !(raw instanceof Uint8Array)) {
        throw corrupt(path, 'an array is not shape, dtype and elements')
      }
      return new FlaxArray(shape as number[], dtype, raw)
    },
  })
  return extensions
}

function decode(path: string, bytes: Uint8Array): unknown {
  try {
    // Python's integers may be larger than a number holds; none of them is a weight.
    return new Decoder({ extensionCodec: codec(path), useBigInt64: true }).decode(bytes)
  } catch (cause) {
    throw corrupt(path, 'it is no whole MessagePack value', cause)
  }
}

function storedTensor(path: string, name: string, { shape: given, dtype, bytes }: FlaxArray): StoredTensor {
  const shape = given.map(Number)
  const read = async () => {
    if (!Object.hasOwn(ELEMENT_TYPES, dtype)) throw unsupported(path, `weights are floating point: ${name} is ${dtype}`)
    const type = dtype as ElementTypeName
    const room = bytes.length / ELEMENT_TYPES[type].bytes
    if (checkedCount(path, name, shape, room) !== room) {
      throw corrupt(path, `${name} of shape [${shape}] has ${bytes.length} bytes`)
    }
    return decodeElements(path, name, type, bytes)
  }
  return { name, shape, dtype, read }
}
