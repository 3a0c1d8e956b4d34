import { maskCrc } from '@cudnn-rnn/checkpoint/files'
import type { Grammar, Random } from '@cudnn-rnn/fuzzing'
import { encodeBundleEntry, encodeBundleHeader, type SliceExtent } from '../src/bundle/bundle_messages.js'
import { DTYPES } from '../src/bundle/dtype.js'
import { sliceKey } from '../src/bundle/ordered_code.js'
import { crc32c } from '../src/crc32c.js'
import { CheckpointError } from '../src/errors.js'
import { openCheckpointFrom } from '../src/open_checkpoint.js'
import { memorySource } from '../src/store/byte_source.js'
import { compareBytes, type TableEntry } from '../src/table/table_reader.js'
import { encodeTable } from '../src/table/table_writer.js'

/** Whether an error of reading a checkpoint is one of ours, with a message that can be printed. */
export function isCoded(error: unknown): boolean {
  return (
    error instanceof CheckpointError && error.message.length < 4000 && !/[\p{Cc}\p{Bidi_Control}]/u.test(error.message)
  )
}

const NAMES = [
  'v',
  'w',
  'lstm/kernel',
  '__proto__',
  'constructor',
  '',
  'a\nb',
  '\x1b[2J',
  'x'.repeat(300),
  'x'.repeat(9000),
]
const SHARD_BYTES = 4096

/** A bundle whose checksums are right and whose entries have any places: contiguous, overlapping, in slices. */
const bundle: Grammar = (random) => {
  const numShards = random.pick([1, 1, 2, 5])
  const shards = Array.from({ length: numShards }, () => new Uint8Array(SHARD_BYTES))
  const overlaps = random.chance(0.3)
  const ends = shards.map(() => 0)
  const place = (shape: readonly number[], dtypeId: number) => {
    const shard = random.below(numShards)
    const { bytes } = Object.values(DTYPES).find(({ id }) => id === dtypeId) ?? { bytes: 4 }
    const claimed = shape.reduce((product, size) => product * size, bytes)
    const size = random.chance(0.95) ? Math.min(claimed, SHARD_BYTES) : random.below(100)
    const offset = overlaps && random.chance(0.5) ? random.below(64) : ends[shard]!
    ends[shard] = offset + size
    const crc = maskCrc(crc32c(shards[shard]!.subarray(offset, offset + size)))
    return { dtypeId, shape, shard: random.chance(0.98) ? shard : 7, offset, size, crc }
  }
  const entries = new Map<string, TableEntry>()
  const add = (key: Uint8Array, value: Uint8Array) => entries.set(key.join(), { key, value })
  for (let tensor = random.pick([1, 2, 5, 40]); tensor > 0; tensor--) {
    const name = random.chance(0.7) ? `v${tensor}` : random.pick(NAMES)
    const dtypeId = random.chance(0.8) ? 1 : random.pick([1, 2, 3, 7, 9, 10, 14, 19, 99])
    const shape = Array.from({ length: random.below(4) }, () => random.pick([0, 1, 2, 3, 8, 2 ** 31]))
    if (random.chance(0.8)) add(new TextEncoder().encode(name), encodeBundleEntry(place(shape, dtypeId)))
    else partitioned(random, name, dtypeId, place, add)
  }
  const header = {
    key: new Uint8Array(0),
    value: encodeBundleHeader(random.chance(0.95) ? numShards : random.below(9)),
  }
  const sorted = [...entries.values()]
    .filter(({ key }) => key.length > 0)
    .toSorted((a, b) => compareBytes(a.key, b.key))
  const files = new Map([['model.index', encodeTable([header, ...sorted])]])
  for (const [shard, bytes] of shards.entries()) {
    files.set(`model.data-0000${shard}-of-0000${numShards}`, bytes)
  }
  const heldBytes = [...files.values()].reduce((sum, { length }) => sum + length, 0)
  return { heldBytes, read: () => readAll(files) }
}

/** A tensor [4 · 2] in slices, of which some are twice named, missing or of another shape. */
function partitioned(
  random: Random,
  name: string,
  dtypeId: number,
  place: (shape: readonly number[], dtypeId: number) => Parameters<typeof encodeBundleEntry>[0],
  add: (key: Uint8Array, value: Uint8Array) => void,
): void {
  const slices = Array.from({ length: random.pick([1, 2, 4, 4, 300]) }, (_, index): SliceExtent[] => {
    return [{ start: random.chance(0.9) ? index : 0, length: 1 }, undefined]
  })
  const own = encodeBundleEntry({ dtypeId, shape: [slices.length, 2], shard: 0, offset: 0, size: 0, crc: 0 })
  // TensorSliceProto: extents in field 1, start in 1 and length in 2 of each; an extent without a length is the whole axis.
  const messages = slices.map(([extent]) => {
    const { start = 0, length = 1 } = extent ?? {}
    const first = start === 0 ? [0x10, length] : [0x08, start & 0x7f, 0x10, length]
    return [0x3a, first.length + 4, 0x0a, first.length, ...first, 0x0a, 0]
  })
  add(new TextEncoder().encode(name), Uint8Array.from([...own, ...messages.flat()]))
  for (const slice of slices) {
    if (random.chance(0.99))
      add(sliceKey(name, slice), encodeBundleEntry(place(random.chance(0.98) ? [1, 2] : [2, 2], dtypeId)))
  }
}

/** Throws for numbers that do not fit their shape. */
async function readAll(files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const reader = await openCheckpointFrom('model', async (path) => {
    const bytes = files.get(path)
    return bytes && memorySource(path, bytes)
  })
  let refused: unknown
  for (const name of reader.names()) {
    try {
      reader.byteLength(name)
      const { data, shape, dtype } = await reader.read(name)
      const count = shape.reduce((product, size) => product * size, DTYPES[dtype].perElement)
      if (data.length !== count) throw new Error(`${data.length} values for shape [${shape}]`)
    } catch (error) {
      if (!isCoded(error)) throw error
      refused ??= error
    }
  }
  await reader.close()
  if (refused !== undefined) throw refused
}

export const GRAMMARS: Readonly<Record<string, Grammar>> = { bundle }
