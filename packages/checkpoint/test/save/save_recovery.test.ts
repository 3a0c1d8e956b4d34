import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { openCheckpoint, recoverSaves, writeCheckpoint, writeCheckpointState } from '../../src/index.js'
import { createOwnerToken } from '../../src/store/process_identity.js'
import { temporaryDirectory } from '../temporary_directory.js'

/** The parent of the directory of checkpoints, which no recovery may touch. */
let parent = ''
let directory = ''
beforeEach(async () => {
  parent = await temporaryDirectory()
  directory = join(parent, 'runs')
  await mkdir(directory)
})

const present = async () => (await readdir(directory)).sort()
const save = (name: string) => writeCheckpoint(join(directory, name), [['a', { data: Float32Array.of(1), shape: [] }]])
const list = (...names: string[]) =>
  writeCheckpointState(directory, {
    modelCheckpointPath: names.at(-1)!,
    allModelCheckpointPaths: names,
    allModelCheckpointTimestamps: [],
    lastPreservedTimestamp: undefined,
  })
const filesOf = (name: string) => [`${name}.data-00000-of-00001`, `${name}.index`]

/** Leaves the lock of a save that was killed on another host, long ago. */
async function leaveLock(notes: string): Promise<void> {
  const [, ...rest] = createOwnerToken().split('-')
  const path = join(directory, 'checkpoint.lock')
  await writeFile(path, [['00000000', ...rest].join('-'), 'other-host', notes, ''].join('\n'))
  const then = new Date(Date.now() - 200_000)
  await utimes(path, then, then)
}
const plan = (fields: object) =>
  JSON.stringify({ saving: 'model-2', existed: false, listed: true, evicting: [], ...fields })

describe('recoverSaves', () => {
  it('does nothing if no save was killed, or if there is no directory', async () => {
    await save('model-1')
    expect(await recoverSaves(directory)).toBe(true)
    expect(await present()).toEqual(filesOf('model-1'))
    expect(await recoverSaves(join(parent, 'absent'))).toBe(true)
    await expect(recoverSaves(7 as never)).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
  })

  it('removes a new checkpoint that the state file does not list yet', async () => {
    for (const name of ['model-1', 'model-2', 'model-22']) await save(name)
    await writeFile(join(directory, 'model-2.meta'), '')
    await list('model-1')
    await leaveLock(plan({}))
    expect(await recoverSaves(directory)).toBe(true)
    // A name that begins with the checkpoint's is another one.
    expect(await present()).toEqual(['checkpoint', ...filesOf('model-1'), ...filesOf('model-22')])
  })

  it('keeps a checkpoint that the state file lists, and removes data that it does not use', async () => {
    for (const name of ['model-1', 'model-2']) await save(name)
    await writeFile(join(directory, 'model-2.data-00000-of-00002'), '')
    await list('model-1', 'model-2')
    await leaveLock(plan({}))
    await recoverSaves(directory)
    expect(await present()).toEqual(['checkpoint', ...filesOf('model-1'), ...filesOf('model-2')])
    expect((await openCheckpoint(join(directory, 'model-2'))).names()).toEqual(['a'])
  })

  it.each([
    ['was there before', { existed: true }],
    ['is never listed', { listed: false }],
  ])('keeps a checkpoint that %s, without the new data that its index does not use', async (_, fields) => {
    await save('model-2')
    await writeFile(join(directory, 'model-2.data-00000-of-00002'), '')
    await leaveLock(plan(fields))
    await recoverSaves(directory)
    expect(await present()).toEqual(filesOf('model-2'))
  })

  it('removes data without an index', async () => {
    await writeFile(join(directory, 'model-2.data-00000-of-00001'), '')
    await leaveLock(plan({ listed: false }))
    await recoverSaves(directory)
    expect(await present()).toEqual([])
  })

  it('keeps the data of a checkpoint whose index is damaged', async () => {
    await save('model-2')
    await writeFile(join(directory, 'model-2.index'), 'damaged')
    await writeFile(join(directory, 'model-2.data-00000-of-00002'), '')
    await leaveLock(plan({ existed: true }))
    await recoverSaves(directory)
    expect(await present()).toHaveLength(3)
  })

  it('removes the checkpoints that are no longer listed, and none that is', async () => {
    for (const name of ['model-0', 'model-1', 'model-2', 'other']) await save(name)
    await list('model-1', 'model-2')
    await leaveLock(plan({ evicting: ['model-0', 'model-1', 'model-2'] }))
    await recoverSaves(directory)
    expect(await present()).toEqual(['checkpoint', ...filesOf('model-1'), ...filesOf('model-2'), ...filesOf('other')])
  })

  it('takes absolute paths of the state file for those of this directory, and no path of another one', async () => {
    for (const name of ['model-1', 'model-2']) await save(name)
    await list(join(directory, 'model-1'), '../elsewhere/model-2')
    await leaveLock(plan({ evicting: ['model-1'] }))
    await recoverSaves(directory)
    expect(await present()).toEqual(['checkpoint', ...filesOf('model-1')])
  })

  it('keeps everything where the state file is damaged', async () => {
    for (const name of ['model-1', 'model-2']) await save(name)
    await writeFile(join(directory, 'checkpoint'), 'all_model_checkpoint_paths: "model')
    await leaveLock(plan({ evicting: ['model-1'] }))
    expect(await recoverSaves(directory)).toBe(true)
    expect(await present()).toEqual(['checkpoint', ...filesOf('model-1'), ...filesOf('model-2')])
  })

  it.each([
    ['no JSON', '{'],
    ['nothing', ''],
    ['null', 'null'],
    ['a list', '[]'],
    ['fields of other kinds', plan({ existed: 'no' })],
    ['evicted names of another kind', plan({ evicting: 'model-1' })],
    ['one evicted name of another kind', plan({ evicting: ['model-1', 7] })],
    ['a path to save', plan({ saving: '../model-2' })],
    ['an evicted path', plan({ evicting: ['model-1', 'deep/model-1'] })],
    ['an empty name', plan({ saving: '' })],
    ['the parent', plan({ saving: '..', existed: true })],
    ['the directory', plan({ saving: '.', existed: true })],
    ['a name that no file can have', plan({ saving: 'model-1\0' })],
  ])('changes nothing by a plan that is invalid (%s), and saves go on', async (_, notes) => {
    for (const name of ['model-1', 'model-2']) await save(name)
    // Data without an index, which a recovery of `runs` in the parent would remove.
    const outside = ['runs.data-00000-of-00001', 'model-2.data-00000-of-00001']
    for (const name of outside) await writeFile(join(parent, name), '')
    await leaveLock(notes)
    expect(await recoverSaves(directory)).toBe(true)
    expect(await present()).toEqual([...filesOf('model-1'), ...filesOf('model-2')])
    expect((await readdir(parent)).sort()).toEqual([...outside, 'runs'].sort())
    await save('model-3')
    expect(await present()).toContain('model-3.index')
  })

  it('is part of the next save', async () => {
    await save('model-2')
    await leaveLock(plan({}))
    await save('model-3')
    expect(await present()).toEqual(filesOf('model-3'))
  })
})
