/** The list that `lists` has under `key`: an empty one is put there if it has none. */
export function listIn<Key, Item>(lists: Map<Key, Item[]>, key: Key): Item[] {
  const list = lists.get(key) ?? []
  lists.set(key, list)
  return list
}
