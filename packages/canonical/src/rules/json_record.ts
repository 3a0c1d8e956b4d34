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
