import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { concatenate, maskCrc } from '@cudnn-rnn/checkpoint/files'
import { Random } from '@cudnn-rnn/fuzzing'
import { describe, expect, it } from 'vitest'
import { crc32c } from '../src/crc32c.js'
import { CheckpointError, memorySource, openCheckpointFrom } from '../src/index.js'
import { MAGIC } from '../src/table/table_format.js'

const FIXTURES = fileURLToPath(new URL('../../../fixtures/checkpoints', import.meta.url))

/** Mutations of each fixture; fuzz_mutations.test.ts mutates behind right checksums too. */
const MUTATIONS = 3000

/** A file of a V1 checkpoint in shards. */
const SHARD = 'model-00000-of-00002'

type Files = ReadonlyMap<string, Uint8Array>

async function load(folder: string): Promise<Files> {
  const names = (await readdir(join(FIXTURES, folder))).filter((name) => name.startsWith('model'))
  return new Map(
    await Promise.all(
      names.map(async (name) => [name, new Uint8Array(await readFile(join(FIXTURES, folder, name)))] as const),
    ),
  )
}

/** Every tensor as text, or the code of the error that refused the checkpoint; any other error is thrown on. */
async function readAll(files: Files): Promise<string> {
  try {
    const reader = await openCheckpointFrom(files.has(SHARD) ? SHARD : 'model', async (path) => {
      const bytes = files.get(path)
      return bytes && memorySource(path, bytes)
    })
    const tensors: string[] = []
    for (const name of reader.names()) {
      const { data, shape, dtype } = await reader.read(name)
      tensors.push(JSON.stringify([name, dtype, shape, Array.from(data as ArrayLike<unknown>, String)]))
    }
    return tensors.join('\n')
  } catch (error) {
    if (error instanceof CheckpointError) return error.code
    throw error
  }
}

const FOLDERS = ['plain', 'strings', 'partitioned', 'sharded', 'v1_snappy', 'v1_sharded']
describe.each(FOLDERS)('a damaged checkpoint: %s', (folder) => {
  it('is refused when any of its files is cut off anywhere', async () => {
    const files = await load(folder)
    for (const [name, bytes] of files) {
      for (let length = 0; length < bytes.length; length++) {
        expect(await readAll(new Map(files).set(name, bytes.subarray(0, length)))).toMatch(/^ERR_/)
      }
    }
  })

  it('is refused or read right when any bit of its index is flipped', async () => {
    const files = await load(folder)
    const whole = await readAll(files)
    const name = ['model.index', SHARD, 'model'].find((file) => files.has(file))!
    const bytes = files.get(name)!
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = bytes.slice()
      flipped[bit >> 3]! ^= 1 << (bit & 7)
      const result = await readAll(new Map(files).set(name, flipped))
      if (!result.startsWith('ERR_')) expect(result).toBe(whole)
    }
  })

  it('is refused or read right after random mutations', async () => {
    const files = await load(folder)
    const whole = await readAll(files)
    const random = new Random(12345)
    for (let round = 0; round < MUTATIONS; round++) {
      const [name, bytes] = random.pick([...files])
      const mutated = bytes.slice()
      for (let change = random.below(4); change >= 0; change--)
        mutated[random.below(mutated.length)] = random.below(256)
      const result = await readAll(new Map(files).set(name, mutated))
      if (!result.startsWith('ERR_')) expect(result).toBe(whole)
    }
  })
})

it('a table whose short entries repeat a long key is refused before it unfolds', async () => {
  const varint = (value: number) => [(value & 127) | 128, ((value >> 7) & 127) | 128, value >> 14]
  const long = 60_000
  const entries = [0, ...varint(long), 0, ...new Array<number>(long).fill(97)]
  for (let index = 0; index < 1000; index++) entries.push(...varint(long + index), 1, 0, 97)
  const block = Uint8Array.from([...entries, 0, 0, 0, 0, 1, 0, 0, 0])
  const withTrailer = (contents: Uint8Array) => {
    const trailer = new Uint8Array(5)
    const crc = maskCrc(crc32c(concatenate([contents, trailer.subarray(0, 1)])))
    new DataView(trailer.buffer).setUint32(1, crc, true)
    return concatenate([contents, trailer])
  }
  const handle = (offset: number, size: number) => [...varint(offset), ...varint(size)]
  const data = withTrailer(block)
  const value = handle(0, block.length)
  const index = withTrailer(Uint8Array.from([0, 1, value.length, 98, ...value, 0, 0, 0, 0, 1, 0, 0, 0]))
  const footer = new Uint8Array(48)
  footer.set([...handle(0, 0), ...handle(data.length, index.length - 5)])
  footer.set(MAGIC, 40)
  const files = new Map([['model.index', concatenate([data, index, footer])]])
  expect(await readAll(files)).toBe('ERR_CHECKPOINT_CORRUPT')
})
