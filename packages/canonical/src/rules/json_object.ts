import { type Json, jsonRecord } from './json_record.js'

/**
 * The object that a text in JSON holds, or undefined. Its values may have any type: they are compared with rules before they
 * are converted, as `String` of an object that has a field `toString` throws.
 *
 * @param text or its bytes in UTF-8.
 */
export function jsonObject(text: string | Uint8Array): Json | undefined {
  try {
    const json = typeof text === 'string' ? text : new TextDecoder('utf-8', { fatal: true }).decode(text)
    return jsonRecord(JSON.parse(json))
  } catch {
    return undefined
  }
}
