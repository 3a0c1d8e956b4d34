import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, readlink, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  latestCheckpoint,
  openCheckpoint,
  openFileSource,
  readCheckpointState,
  writeCheckpoint,
} from '../../src/index.js'

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'source-'))
})
afterEach(() => rm(directory, { recursive: true }))

/** Files of the directory that this process has open. */
async function openFiles(): Promise<string[]> {
  const targets = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''))
  return (await Promise.all(targets)).filter((target) => target.startsWith(directory))
}
const closed = async () => {
  for (let look = 0; look < 200 && (await openFiles()).length > 0; look++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return (await openFiles()).length === 0
}
const values = async (reading: Promise<{ readonly data: unknown }>) => [...((await reading).data as Float32Array)]

it.skipIf(process.platform !== 'linux')(
  'openCheckpoint: readers that are never closed hold no file open, and still read',
  async () => {
    const prefix = join(directory, 'model')
    const tensor = (value: number) => ({ data: Float32Array.of(value, value), shape: [2] })
    await writeCheckpoint(prefix, [
      ['a', tensor(1)],
      ['b', tensor(2)],
    ])
    const readers = await Promise.all(Array.from({ length: 20 }, () => openCheckpoint(prefix)))
    for (const reader of readers) expect(await values(reader.read('a'))).toEqual([1, 1])
    expect((await openFiles()).length).toBeGreaterThan(0)
    expect(await closed()).toBe(true)
    const reads = readers.map((reader) => values(reader.read('b')))
    expect(await Promise.all(reads)).toEqual(readers.map(() => [2, 2]))
    expect(await closed()).toBe(true)
  },
)

it.skipIf(process.platform !== 'linux')('openCheckpoint: `await using` closes at the end of the block', async () => {
  const prefix = join(directory, 'model')
  await writeCheckpoint(prefix, [['a', { data: Float32Array.of(1), shape: [1] }]])
  {
    await using reader = await openCheckpoint(prefix)
    await reader.read('a')
  }
  expect(await openFiles()).toEqual([])
})

it.skipIf(process.platform !== 'linux')('openCheckpoint: `using` closes soon after the end of the block', async () => {
  const prefix = join(directory, 'model')
  await writeCheckpoint(prefix, [['a', { data: Float32Array.of(1), shape: [1] }]])
  {
    using reader = await openCheckpoint(prefix)
    await reader.read('a')
    expect(await openFiles()).toHaveLength(1)
  }
  expect(await closed()).toBe(true)
})

it('openFileSource refuses a file that was replaced or removed while it was closed', async () => {
  const path = join(directory, 'file')
  await writeFile(path, 'first')
  const source = await openFileSource(path)
  expect(await source?.read(0, 5)).toEqual(new Uint8Array(Buffer.from('first')))
  await source?.close()
  expect(await source?.read(1, 2)).toEqual(new Uint8Array(Buffer.from('ir')))
  await source?.close()
  await writeFile(`${path}2`, 'other')
  await rename(`${path}2`, path)
  await expect(source?.read(0, 5)).rejects.toThrow(coded('ERR_CHECKPOINT_REPLACED'))
  await rm(path)
  await expect(source?.read(0, 5)).rejects.toThrow(coded('ERR_CHECKPOINT_REPLACED'))
  await source?.close()
})

it.skipIf(process.platform === 'win32')(
  'a state file, an index or a data file that is a FIFO is refused immediately',
  async () => {
    const prefix = join(directory, 'model')
    await writeCheckpoint(prefix, [['a', { data: Float32Array.of(1), shape: [1] }]])
    const refused = { code: 'ERR_CHECKPOINT_IO', message: expect.stringContaining('must be a regular file') }
    const plant = async (path: string) => {
      await rm(path, { force: true })
      expect(spawnSync('mkfifo', [path]).status).toBe(0)
    }
    await plant(join(directory, 'checkpoint'))
    await expect(readCheckpointState(directory)).rejects.toMatchObject(refused)
    await expect(latestCheckpoint(directory)).rejects.toMatchObject(refused)
    await plant(`${prefix}.data-00000-of-00001`)
    const reader = await openCheckpoint(prefix)
    await expect(reader.read('a')).rejects.toMatchObject(refused)
    await reader.close()
    await plant(`${prefix}.index`)
    await expect(openCheckpoint(prefix)).rejects.toMatchObject(refused)
    const saved = writeCheckpoint(prefix, [['a', { data: Float32Array.of(1), shape: [1] }]])
    await expect(saved).rejects.toMatchObject({ code: 'ERR_CHECKPOINT_IO' })
  },
)

it.skipIf(process.platform !== 'linux')(
  'openFileSource refuses to read more than memory holds, with a code',
  async () => {
    const path = join(directory, 'sparse')
    await writeFile(path, '')
    await truncate(path, 2 ** 43)
    const source = await openFileSource(path)
    await expect(source?.read(0, 2 ** 43)).rejects.toMatchObject({ code: 'ERR_OUT_OF_MEMORY', requestedBytes: 2 ** 43 })
    expect(await source?.read(2 ** 42, 2)).toEqual(new Uint8Array(2))
    await source?.close()
  },
)
