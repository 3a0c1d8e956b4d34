import { crc32c, maskCrc } from '../src/crc32c.js'
import type { TableEntry } from '../src/table_reader.js'
import { concatenate, encodeTable } from '../src/table_writer.js'

export type Random = (limit: number) => number

/** A repeatable generator of integers below a limit (xorshift128, Marsaglia 2003). */
export function seededRandom(seed: number): Random {
  let [x, y, z, w] = [seed | 1, 362436069, 521288629, 88675123]
  return (limit) => {
    const t = x ^ (x << 11)
    ;[x, y, z] = [y, z, w]
    w = w ^ (w >>> 19) ^ t ^ (t >>> 8)
    return Math.floor(((w >>> 0) / 2 ** 32) * limit)
  }
}

/** Numbers that parsers get wrong. */
const EDGES = [0, 1, 7, 127, 128, 255, 2 ** 14, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 2 ** 63]

/** Changes bytes in place, cuts some out, or repeats some. */
export function mutateBytes(bytes: Uint8Array, random: Random): Uint8Array {
  if (bytes.length === 0) return Uint8Array.of(random(256))
  const at = random(bytes.length)
  const length = 1 + random(Math.min(8, bytes.length - at))
  switch (random(6)) {
    case 0:
      return concatenate([bytes.subarray(0, at), bytes.subarray(at + length)])
    case 1:
      return concatenate([bytes.subarray(0, at + length), bytes.subarray(at)])
    case 2: {
      const varint: number[] = []
      let rest = BigInt(EDGES[random(EDGES.length)]!)
      for (; rest > 127n; rest >>= 7n) varint.push(Number(rest & 127n) | 128)
      varint.push(Number(rest))
      return concatenate([bytes.subarray(0, at), Uint8Array.from(varint), bytes.subarray(at + random(length + 1))])
    }
    default: {
      const changed = bytes.slice()
      for (let change = random(3); change >= 0; change--) {
        const place = random(changed.length)
        changed[place] = random(2) === 0 ? random(256) : changed[place]! ^ (1 << random(8))
      }
      return changed
    }
  }
}

/** Changes, drops, repeats or swaps entries, so that the mutation is found behind right checksums. */
export function mutateEntries(entries: readonly TableEntry[], random: Random): Uint8Array {
  const changed = entries.map(({ key, value }) => ({ key, value }))
  for (let change = random(3); change >= 0; change--) {
    const at = random(changed.length)
    const entry = changed[at]
    if (entry === undefined) break
    switch (random(8)) {
      case 0:
        changed.splice(at, 1)
        break
      case 1:
        changed.splice(at, 0, entry)
        break
      case 2:
        entry.key = mutateBytes(entry.key, random)
        break
      case 3:
        // The value of another entry: a tensor that claims the place, type or shape of its neighbour.
        entry.value = changed[random(changed.length)]!.value
        break
      default:
        entry.value = mutateBytes(entry.value, random)
    }
  }
  return encodeTable(changed)
}

/** Changes one block of a table whose blocks end at `ends`, and gives it the right checksum again. */
export function mutateBlock(table: Uint8Array, ends: readonly number[], random: Random): Uint8Array {
  const changed = table.slice()
  const view = new DataView(changed.buffer)
  const which = random(ends.length)
  const [begin, end] = [which === 0 ? 0 : ends[which - 1]! + 5, ends[which]!]
  for (let change = random(3); change >= 0; change--) {
    // Lengths and restarts sit at the end: look there more often.
    const place = random(3) === 0 ? end - 1 - random(Math.min(12, end - begin)) : begin + random(end - begin + 1)
    changed[place] = random(2) === 0 ? random(256) : changed[place]! ^ (1 << random(8))
  }
  view.setUint32(end + 1, maskCrc(crc32c(changed.subarray(begin, end + 1))), true)
  return changed
}

/**
 * Where the blocks of a table end, which lie one after another, each with a trailer of 5 bytes: a place is one when the
 * checksum after it is right for what lies before.
 */
export function blockEnds(table: Uint8Array): number[] {
  const view = new DataView(table.buffer)
  const ends: number[] = []
  let begin = 0
  for (let end = begin; end + 5 <= table.length; end++) {
    if (view.getUint32(end + 1, true) !== maskCrc(crc32c(table.subarray(begin, end + 1)))) continue
    ends.push(end)
    begin = end + 5
    end = begin - 1
  }
  return ends
}
