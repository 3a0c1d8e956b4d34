type Defined<Value> = Exclude<Value, undefined | null>

/**
 * `value`, which the surrounding code proves to be there where its type cannot. An error here is a defect of this
 * library, and says so, in place of an `undefined` that fails further on.
 *
 * @param what names the value: "the tape"
 * @throws Error `ERR_BROKEN_INVARIANT`
 */
export function required<Value>(value: Value, what: string): Defined<Value> {
  if (value === undefined || value === null) throw brokenInvariant(what, value)
  return value as Defined<Value>
}

/**
 * The value that `map` has under `key`.
 *
 * @throws Error `ERR_BROKEN_INVARIANT` when it has none
 */
export function entryOf<Key, Value>(map: { get(key: Key): Value | undefined }, key: Key): Value {
  const value = map.get(key)
  if (value === undefined) throw brokenInvariant(`the entry ${String(key)}`, value)
  return value
}

function brokenInvariant(what: string, value: unknown): Error {
  const message = `Cannot continue as ${what} must be there: current value is ${value}`
  return Object.assign(new Error(message), { code: 'ERR_BROKEN_INVARIANT' })
}
