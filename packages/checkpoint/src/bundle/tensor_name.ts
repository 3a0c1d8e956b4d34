import { corrupt } from '../errors.js'

// Decoding preserves names: a byte order mark is part of a name, and two invalid UTF-8 names must stay distinct.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The name of a tensor. Throws `ERR_CHECKPOINT_CORRUPT` unless it is UTF-8. */
export function decodeName(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch (cause) {
    throw corrupt('the name of a tensor', 'it is not UTF-8', { cause })
  }
}
