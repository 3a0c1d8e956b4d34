import { ByteList } from './byte_list.js'

/** The bytes of a safetensors file with this header and `data` bytes of zeros. */
export function safetensorsBytes(header: string, data = 0): Uint8Array {
  const text = new TextEncoder().encode(header)
  return new ByteList().u64(text.length).bytes(text, new Uint8Array(data)).finish()
}
