/** The value that `map` has under `key`: one is made and put there if it has none. */
export function madeIn<Key, Value>(
  map: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

/** The list that `lists` has under `key`: an empty one is put there if it has none. */
export function listIn<Key, Item>(lists: Map<Key, Item[]>, key: Key): Item[] {
  return madeIn(lists, key, () => [])
}
