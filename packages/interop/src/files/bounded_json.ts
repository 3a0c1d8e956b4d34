import { corrupt } from '../errors.js'

/** Limits of a JSON text in a weight file; parsed values take far more memory than their text. */
export interface JsonLimits {
  /** Objects and arrays within each other. */
  readonly depth: number
  /** Objects, arrays and their items. */
  readonly values: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const isOpening = (byte: number) => byte === 0x7b || byte === 0x5b
const isClosing = (byte: number) => byte === 0x7d || byte === 0x5d

/**
 * Parses UTF-8 JSON whose depth and number of values are counted before.
 *
 * @param what name of the text in messages, such as "its header".
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`
 */
export function parseBoundedJson(path: string, what: string, bytes: Uint8Array, limits: JsonLimits): unknown {
  checkLimits(path, what, bytes, limits)
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw corrupt(path, `${what} is not JSON`, cause)
  }
}

function checkLimits(path: string, what: string, bytes: Uint8Array, limits: JsonLimits): void {
  let depth = 0
  let values = 0
  let inText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (inText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) inText = false
    } else if (byte === QUOTE) inText = true
    else if (byte === COMMA) values++
    else if (isOpening(byte)) {
      values++
      if (++depth > limits.depth) throw corrupt(path, `${what} is nested more than ${limits.depth} deep`)
    } else if (isClosing(byte)) depth--
    if (values > limits.values) throw corrupt(path, `${what} has more than ${limits.values} values`)
  }
}
