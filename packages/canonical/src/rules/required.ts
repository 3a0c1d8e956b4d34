type Defined<Value> = Exclude<Value, undefined | null>

/**
 * `value` without undefined and null, for callers whose code proves that it is there and whose types do not. The error
 * reports a defect of this library.
 *
 * @param invariant the reason why the value is there, as a clause: "a training forward has a tape"
 * @throws Error `ERR_BROKEN_INVARIANT`
 */
export function required<Value>(value: Value, invariant: string): Defined<Value> {
  if (value === undefined || value === null) throw brokenInvariant(invariant, value)
  return value as Defined<Value>
}

/**
 * The value that `map` has under `key`.
 *
 * @throws Error `ERR_BROKEN_INVARIANT` when it has none
 */
export function entryOf<Key, Value>(map: { get(key: Key): Value | undefined }, key: Key): Value {
  const value = map.get(key)
  if (value === undefined) throw brokenInvariant(`the map has the entry ${String(key)}`, value)
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
    if (other.done) throw brokenInvariant('the second list is as long as the first', undefined)
    yield [value, other.value]
  }
  const surplus = others.next()
  if (!surplus.done) throw brokenInvariant('the first list is as long as the second', undefined)
}

function brokenInvariant(invariant: string, value: unknown): Error {
  const message = `Cannot continue as an invariant of the library is broken: ${invariant}, but the current value is ${value}. Please report this defect with its stack.`
  return Object.assign(new Error(message), { code: 'ERR_BROKEN_INVARIANT' })
}
