type Defined<Value> = Exclude<Value, undefined | null>

/**
 * `value` without undefined and null, for callers whose code proves that it is there and whose types do not. The error
 * reports a defect of this library.
 *
 * @param name of the value: "the tape"
 * @throws Error `ERR_BROKEN_INVARIANT`
 */
export function required<Value>(value: Value, name: string): Defined<Value> {
  if (value === undefined || value === null) throw brokenInvariant(name, value)
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

/**
 * The pairs of two lists of equal length. The error reports a defect of this library.
 *
 * @throws Error `ERR_BROKEN_INVARIANT` after the last pair of lists that differ in length
 */
export function* zip<First, Second>(
  first: Iterable<First>,
  second: Iterable<Second>,
): Generator<[First, Second], void, undefined> {
  const others = second[Symbol.iterator]()
  for (const value of first) {
    const other = others.next()
    if (other.done) throw brokenInvariant('an element beside each of the first list', undefined)
    yield [value, other.value]
  }
  const surplus = others.next()
  if (!surplus.done) throw brokenInvariant('an element beside each of the second list', undefined)
}

function brokenInvariant(name: string, value: unknown): Error {
  const message = `Cannot continue as ${name} must be there: current value is ${value}`
  return Object.assign(new Error(message), { code: 'ERR_BROKEN_INVARIANT' })
}
