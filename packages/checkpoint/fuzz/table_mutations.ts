import { concatenate, maskCrc } from '@cudnn-rnn/checkpoint/files'
import type { Random } from '@cudnn-rnn/fuzzing'
import { compress } from 'snappyjs'
import { crc32c } from '../src/crc32c.js'
import { BLOCK_TYPES, FOOTER_SIZE, MAGIC } from '../src/table/table_format.js'
import type { TableEntry } from '../src/table/table_reader.js'
import { mutateBytes, mutateMessage, pushBigVarint } from './message_mutations.js'

/** How likely each number of a table's structure is to be damaged, in a table whose structure is to be. */
const DAMAGE = 0.03

/**
 * A table of the entries, damaged somewhere: in a value's message, in a key, in the order of the entries, or in the
 * structure of the file. All checksums are right, so that the damage reaches the code behind them.
 */
export function mutateTable(entries: readonly TableEntry[], random: Random): Uint8Array {
  const changed = [...entries]
  let damage = 0
  for (let changes = random.below(3); changes >= 0; changes--) {
    if (random.chance(0.7)) mutateEntries(changed, random)
    else damage = DAMAGE
  }
  return encodeDamaged(changed, random, damage)
}

function mutateEntries(entries: TableEntry[], random: Random): void {
  const at = random.below(entries.length)
  const entry = entries[at]
  if (entry === undefined) return
  const { key, value } = entry
  switch (random.below(12)) {
    case 0:
      entries.splice(at, 1)
      break
    case 1:
      entries.splice(at, 0, { key: mutateBytes(key, random), value })
      break
    case 2:
      entries[at] = { key: mutateBytes(key, random), value }
      break
    case 3:
      entries[at] = { key, value: random.pick(entries).value }
      break
    case 4:
      entries.splice(random.below(entries.length), 0, entry)
      break
    default:
      entries[at] = { key, value: mutateMessage(value, random) }
  }
}

/** The file of a table in one to three data blocks; `damage` is the chance of each number in it to be wrong. */
function encodeDamaged(entries: readonly TableEntry[], random: Random, damage: number): Uint8Array {
  const parts: Uint8Array[] = []
  let offset = 0
  const number = (value: number) => (damage > 0 && random.chance(damage) ? random.number(BigInt(value)) : BigInt(value))
  const handle = (start: number, size: number) => {
    const bytes: number[] = []
    pushBigVarint(bytes, number(start))
    pushBigVarint(bytes, number(size))
    return Uint8Array.from(bytes)
  }
  const write = (contents: Uint8Array) => {
    let type: number = random.chance(0.3) ? BLOCK_TYPES.snappy : BLOCK_TYPES.raw
    let stored = type === BLOCK_TYPES.snappy ? compress(contents) : contents
    if (damage > 0 && random.chance(0.1)) stored = mutateBytes(stored, random)
    if (damage > 0 && random.chance(damage)) type = random.below(256)
    const block = new Uint8Array(stored.length + 5)
    block.set(stored)
    block[stored.length] = type
    new DataView(block.buffer).setUint32(stored.length + 1, maskCrc(crc32c(block.subarray(0, -4))), true)
    parts.push(block)
    const place = handle(offset, stored.length)
    offset += block.length
    return place
  }

  const index: TableEntry[] = []
  const blocks = 1 + random.below(3)
  for (let block = 0; block < blocks; block++) {
    const [from, to] = [block, block + 1].map((edge) => Math.floor((edge * entries.length) / blocks))
    const inBlock = entries.slice(from, to)
    const value = write(encodeBlock(inBlock, random, number))
    index.push({ key: inBlock.at(-1)?.key ?? new Uint8Array(0), value })
  }
  if (damage > 0 && random.chance(damage)) index.push(random.pick(index))
  const metaindex = write(encodeBlock([], random, number))
  const indexHandle = write(encodeBlock(index, random, number))

  const footer = new Uint8Array(FOOTER_SIZE)
  footer.set([...metaindex, ...indexHandle].slice(0, FOOTER_SIZE - MAGIC.length))
  footer.set(MAGIC, FOOTER_SIZE - MAGIC.length)
  return concatenate([...parts, footer])
}

function encodeBlock(entries: readonly TableEntry[], random: Random, number: (value: number) => bigint): Uint8Array {
  const bytes: number[] = []
  const restarts: number[] = []
  const interval = 1 + random.below(16)
  let previous: Uint8Array = new Uint8Array(0)
  for (const [index, { key, value }] of entries.entries()) {
    let shared = 0
    if (index % interval === 0) restarts.push(bytes.length)
    else while (shared < key.length && key[shared] === previous[shared]) shared++
    for (const length of [shared, key.length - shared, value.length]) pushBigVarint(bytes, number(length))
    for (const byte of key.subarray(shared)) bytes.push(byte)
    for (const byte of value) bytes.push(byte)
    previous = key
  }
  if (restarts.length === 0) restarts.push(0)
  const contents = new Uint8Array(bytes.length + 4 * restarts.length + 4)
  contents.set(bytes)
  const view = new DataView(contents.buffer, bytes.length)
  for (const [index, word] of [...restarts, restarts.length].entries()) {
    view.setUint32(4 * index, Number(number(word) & 0xffffffffn), true)
  }
  return contents
}
