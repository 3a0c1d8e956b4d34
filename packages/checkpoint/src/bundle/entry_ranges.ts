import type { BundleEntry } from './bundle_messages.js'
import { corrupt } from '../errors.js'

/** Names of variables are paths of a few scopes. */
export const LONGEST_NAME = 4096

/**
 * Throws unless every entry of an index has its own bytes, as every writer lays them out: entries that share bytes could
 * make a small file unfold into any number of tensors.
 *
 * @throws CheckpointError `ERR_CHECKPOINT_CORRUPT`
 */
export function checkEntryRanges(path: string, entries: ReadonlyMap<string, BundleEntry>): void {
  const refusal = (rule: string) => corrupt('checkpoint', rule, { path })
  const placed: (readonly [name: string, entry: BundleEntry])[] = []
  for (const [name, entry] of entries) {
    // Keys of slices have the name and some bytes for each axis.
    if (name.length > 2 * LONGEST_NAME) throw refusal(`a name in it has ${name.length} characters`)
    checkSlices(name, entry, entries.size, refusal)
    if (entry.size > 0) placed.push([name, entry])
  }
  placed.sort(([, a], [, b]) => a.shard - b.shard || a.offset - b.offset)
  for (const [index, [name, { shard, offset }]] of placed.entries()) {
    const before = placed[index - 1]
    if (before === undefined || before[1].shard !== shard || before[1].offset + before[1].size <= offset) continue
    throw refusal(`the tensors ${shownKey(before[0])} and ${shownKey(name)} overlap in data file ${shard}`)
  }
}

/** A slice has its own key; a tensor that names slices over and over would be looked up as often. */
function checkSlices(name: string, { slices }: BundleEntry, most: number, refusal: (rule: string) => Error): void {
  if (slices.length > most) throw refusal(`${name} has more slices than it has entries`)
  const texts = new Set(slices.map((slice) => JSON.stringify(slice)))
  if (texts.size !== slices.length) throw refusal(`${name} names a slice twice`)
}

/** Keys of slices are bytes, marked by the first one. */
function shownKey(name: string): string {
  return name.startsWith('\0') ? 'of a slice' : name
}
