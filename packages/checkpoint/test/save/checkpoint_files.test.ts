import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkpointFiles, removeCheckpoint, removeUnusedData } from '../../src/save/checkpoint_files.js'
import { writeCheckpoint } from '../../src/index.js'
import { temporaryDirectory } from '../temporary_directory.js'

const shard = (base: string, shards: string) => `${base}.data-00000-of-${shards}`
const namesIn = async (directory: string) => (await readdir(directory)).sort()

/** A directory of files without content. */
async function directoryOf(...names: readonly string[]): Promise<string> {
  const directory = await temporaryDirectory()
  for (const name of names) await writeFile(join(directory, name), '')
  return directory
}

describe('checkpointFiles', () => {
  it('are the data files and the graph of one name', () => {
    const names = [
      'model-1.index',
      'model-1.meta',
      shard('model-1', '00001'),
      'model-1.data-00011-of-00012',
      shard('model-10', '00001'),
      shard('a-model-1', '00001'),
    ]
    expect(checkpointFiles(names, 'model-1')).toEqual([
      { name: 'model-1.meta', numShards: undefined },
      { name: 'model-1.data-00000-of-00001', numShards: 1 },
      { name: 'model-1.data-00011-of-00012', numShards: 12 },
    ])
  })

  it.each(['model.data', 'model.data-0-of-1', 'model.data-00000-of-000001', 'model.meta.tmp', 'model.metadata'])(
    'are not %s',
    (name) => {
      expect(checkpointFiles([name], 'model')).toEqual([])
    },
  )

  it('takes the characters of a name for themselves', () => {
    const names = [shard('a.c', '00001'), shard('abc', '00001'), shard('(', '00001')]
    expect(checkpointFiles(names, 'a.c').map(({ name }) => name)).toEqual(names.slice(0, 1))
    expect(checkpointFiles(names, '(').map(({ name }) => name)).toEqual(names.slice(2))
  })
})

describe('removeCheckpoint', () => {
  it('removes the files of one checkpoint, and no others', async () => {
    const others = ['checkpoint', 'model-10.index', shard('model-10', '00001')]
    const directory = await directoryOf(...others, 'model-1.index', 'model-1.meta', shard('model-1', '00003'))
    await removeCheckpoint(directory, join(directory, 'model-1'))
    expect(await namesIn(directory)).toEqual(others.sort())
  })

  it('removes nothing outside its directory, for any path of a state file', async () => {
    const directory = await directoryOf('model.index')
    await mkdir(join(directory, 'run'))
    for (const prefix of [join(directory, 'model'), join(directory, 'run', '..', 'model'), 'model']) {
      await removeCheckpoint(join(directory, 'run'), prefix)
    }
    expect(await namesIn(directory)).toEqual(['model.index', 'run'])
  })

  it('finds its directory by another path too', async () => {
    const directory = await directoryOf('model.index')
    await removeCheckpoint(join(directory, '.'), join(directory, 'sub', '..', 'model'))
    expect(await namesIn(directory)).toEqual([])
  })

  it('succeeds where the checkpoint was removed before', async () => {
    const directory = await directoryOf('other')
    await removeCheckpoint(directory, join(directory, 'model'))
    expect(await namesIn(directory)).toEqual(['other'])
  })
})

describe('removeUnusedData', () => {
  const tensors = [['bias', { data: Float32Array.of(1), shape: [1] }]] as const

  it('keeps the data file that the index uses, and the graph', async () => {
    const directory = await directoryOf('model.meta', shard('model', '00002'), shard('other', '00002'))
    const prefix = join(directory, 'model')
    await writeCheckpoint(prefix, tensors)
    // A save leaves this if it was killed after it wrote its data.
    await writeFile(join(directory, shard('model', '00004')), '')
    await removeUnusedData(prefix)
    const names = await namesIn(directory)
    expect(names).not.toContain(shard('model', '00004'))
    expect(names).toEqual(expect.arrayContaining(['model.index', 'model.meta', shard('other', '00002')]))
    expect(checkpointFiles(names, 'model').filter(({ numShards }) => numShards !== undefined)).toHaveLength(1)
  })

  it('removes all data without an index', async () => {
    const directory = await directoryOf('model.meta', shard('model', '00001'), shard('model', '00002'))
    await removeUnusedData(join(directory, 'model'))
    expect(await namesIn(directory)).toEqual(['model.meta'])
  })

  it('keeps all data where the index is damaged, as it may be of use to someone', async () => {
    const names = ['model.index', shard('model', '00001'), shard('model', '00002')].sort()
    const directory = await directoryOf(...names)
    await removeUnusedData(join(directory, 'model'))
    expect(await namesIn(directory)).toEqual(names)
  })
})
