import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { isCheckpointError, memorySource, openCheckpointFrom } from '../src/index.js'
import { readTable } from '../src/table_reader.js'
import { blockEnds, mutateBlock, mutateBytes, mutateEntries, seededRandom } from './mutations.js'

const FIXTURES = fileURLToPath(new URL('../../../fixtures/checkpoints', import.meta.url))

/** Mutations of each fixture: CHECKPOINT_MUTATIONS=200000 for a long hunt. */
const MUTATIONS = Number(process.env['CHECKPOINT_MUTATIONS'] ?? 2000)
const SEED = Number(process.env['CHECKPOINT_SEED'] ?? 1)

/** A bool of V1 takes a byte there and a byte here, a small integer a byte there and 8 here, a string's array slot 8 more. */
const MAXIMUM_GROWTH = 64

async function load(folder: string): Promise<Map<string, Uint8Array>> {
  const names = (await readdir(join(FIXTURES, folder))).filter((name) => name.startsWith('model'))
  const files = new Map<string, Uint8Array>()
  for (const name of names) files.set(name, new Uint8Array(await readFile(join(FIXTURES, folder, name))))
  return files
}

/**
 * Reads everything there is to read. Whatever the bytes: nothing but a CheckpointError, and no tensor that is larger than
 * the files allow or does not have the elements of its shape.
 */
async function readAll(files: ReadonlyMap<string, Uint8Array>): Promise<'read' | 'refused'> {
  const size = [...files.values()].reduce((sum, { length }) => sum + length, 0)
  try {
    const reader = await openCheckpointFrom('model', async (path) => {
      const bytes = files.get(path)
      return bytes && memorySource(path, bytes)
    })
    for (const name of reader.names()) {
      const { data, shape, dtype } = await reader.read(name)
      const elements = shape.reduce((product, dimension) => product * dimension, 1)
      const bytes = Array.isArray(data) ? data.length : (data as Uint8Array).byteLength
      const perElement = dtype.startsWith('complex') ? 2 : 1
      if (data.length !== elements * perElement) throw new Error(`${name}: ${data.length} values for [${shape}]`)
      if (bytes > size * MAXIMUM_GROWTH) throw new Error(`${name}: ${bytes} bytes out of files of ${size}`)
    }
    await reader.close()
    return 'read'
  } catch (error) {
    if (isCheckpointError(error)) return 'refused'
    throw error
  }
}

describe.each(['plain', 'strings', 'dtypes', 'partitioned', 'sharded', 'v1', 'v1_snappy'])(
  'a checkpoint damaged behind right checksums: %s',
  (folder) => {
    it(`is refused or read, never more, over ${MUTATIONS} mutations`, { timeout: 3_600_000 }, async () => {
      const files = await load(folder)
      const table = files.has('model.index') ? 'model.index' : 'model'
      const entries = await readTable(memorySource(table, files.get(table)!))
      const ends = blockEnds(files.get(table)!)
      const random = seededRandom(SEED)
      const counts = { read: 0, refused: 0 }
      for (let round = 0; round < MUTATIONS; round++) {
        const mutated = new Map(files)
        switch (random(8)) {
          case 0: {
            const [name, bytes] = [...files][random(files.size)]!
            mutated.set(name, mutateBytes(bytes, random))
            break
          }
          case 1:
          case 2:
            mutated.set(table, mutateBlock(files.get(table)!, ends, random))
            break
          default:
            mutated.set(table, mutateEntries(entries, random))
        }
        try {
          counts[await readAll(mutated)]++
        } catch (cause) {
          throw new Error(`Round ${round} of seed ${SEED}: ${(cause as Error).message}`, { cause })
        }
      }
      // Both happen, or the mutations do not reach what they should.
      expect(counts.read).toBeGreaterThan(0)
      expect(counts.refused).toBeGreaterThan(MUTATIONS / 4)
    })
  },
)
