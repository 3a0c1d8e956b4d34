import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { littleEndianBytes } from '@cudnn-rnn/checkpoint/files'
import { Encoder, ExtensionCodec } from '@msgpack/msgpack'
import { ARRAY_EXTENSION } from './flax_file.js'

/** A Flax msgpack file of tensors whose names are joined by `/`; the format is described in flax_file.ts. */
export function encodeFlax(tensors: Readonly<Record<string, Tensor<FloatArray>>>): Uint8Array {
  const root: Record<string, unknown> = {}
  for (const [name, tensor] of Object.entries(tensors)) {
    const segments = name.split('/')
    const own = segments.pop() ?? ''
    let module = root
    for (const segment of segments) {
      module[segment] ??= {}
      module = module[segment] as Record<string, unknown>
    }
    module[own] = new FlaxArray(tensor)
  }
  const extensionCodec = new ExtensionCodec()
  extensionCodec.register({
    type: ARRAY_EXTENSION,
    encode: (value) => (value instanceof FlaxArray ? value.encoded() : null),
    decode: () => null,
  })
  return new Encoder({ extensionCodec }).encode(root)
}

/** A value that the encoder writes as an extension value. */
class FlaxArray {
  readonly #tensor: Tensor<FloatArray>

  constructor(tensor: Tensor<FloatArray>) {
    this.#tensor = tensor
  }

  encoded(): Uint8Array {
    const { data, shape } = this.#tensor
    const dtype = data instanceof Float64Array ? 'float64' : 'float32'
    return new Encoder().encode([[...shape], dtype, littleEndianBytes(data)])
  }
}
