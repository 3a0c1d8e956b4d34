/** An object of parsed JSON. */
export type Json = Readonly<Record<string, unknown>>

/** Whether a value of parsed JSON is an object, not a list or null. */
export function isJsonRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A value of parsed JSON as an object; undefined for another. */
export function jsonRecord(value: unknown): Json | undefined {
  return isJsonRecord(value) ? value : undefined
}

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
