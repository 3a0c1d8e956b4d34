import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { littleEndianBytes } from '@cudnn-rnn/checkpoint/files'

/** Data starts at a multiple of this, as the reference implementation writes it. */
const ALIGNMENT = 8

/** A safetensors file of float tensors, in the order given; the layout is described in safetensors_reader.ts. */
export function encodeSafetensors(tensors: Readonly<Record<string, Tensor<FloatArray>>>): Uint8Array {
  let end = 0
  const entries = Object.entries(tensors).map(([name, { data, shape }]) => {
    const begin = end
    end += data.byteLength
    const dtype = data instanceof Float64Array ? 'F64' : 'F32'
    return { name, data, begin, header: { dtype, shape, data_offsets: [begin, end] } }
  })
  const json = JSON.stringify(Object.fromEntries(entries.map(({ name, header }) => [name, header])))
  const text = new TextEncoder().encode(json)
  const headerLength = Math.ceil(text.length / ALIGNMENT) * ALIGNMENT
  const file = new Uint8Array(8 + headerLength + end).fill(0x20, 8, 8 + headerLength)
  new DataView(file.buffer).setBigUint64(0, BigInt(headerLength), true)
  file.set(text, 8)
  for (const { data, begin } of entries) {
    file.set(littleEndianBytes(data), 8 + headerLength + begin)
  }
  return file
}
