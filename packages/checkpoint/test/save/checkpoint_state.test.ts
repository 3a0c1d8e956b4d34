import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { formatCheckpointState, parseCheckpointState } from '../../src/save/checkpoint_state.js'
import { latestCheckpoint, readCheckpointState, writeCheckpoint, writeCheckpointState } from '../../src/index.js'
import { temporaryDirectory } from '../temporary_directory.js'

const STATE = {
  modelCheckpointPath: 'model-2',
  allModelCheckpointPaths: ['model-1', 'model-2'],
  allModelCheckpointTimestamps: [1500000000.5, 1500000001],
  lastPreservedTimestamp: 1499999999.25,
}

describe('parseCheckpointState', () => {
  it('is the inverse of formatCheckpointState, for any names of paths', () => {
    for (const path of ['plain', 'with "quotes" and \\', 'fünf/学', 'line\nbreak', '/abs/olute']) {
      const state = { ...STATE, modelCheckpointPath: path, allModelCheckpointPaths: [path] }
      expect(parseCheckpointState(formatCheckpointState(state), 'x')).toEqual(state)
    }
  })

  it('writes the same bytes as TensorFlow', async () => {
    const text = await readFile(
      fileURLToPath(new URL('../../../../fixtures/checkpoints/saver/checkpoint', import.meta.url)),
      'utf8',
    )
    expect(formatCheckpointState(parseCheckpointState(text, 'x'))).toBe(text)
  })

  it.each([
    '',
    'nonsense',
    'model_checkpoint_path: unquoted',
    'all_model_checkpoint_paths: "a"',
    'model_checkpoint_path: "a"\nall_model_checkpoint_timestamps: 1.2.3',
  ])('refuses %j', (text) => {
    expect(() => parseCheckpointState(text, 'x')).toThrow(coded('ERR_CHECKPOINT_CORRUPT'))
  })
})

describe('latestCheckpoint', () => {
  it('is null without a state file, without the directory, and without the files it names', async () => {
    const directory = await temporaryDirectory()
    expect(await latestCheckpoint(directory)).toBeNull()
    expect(await latestCheckpoint(join(directory, 'none'))).toBeNull()
    await writeCheckpointState(directory, STATE)
    expect(await latestCheckpoint(directory)).toBeNull()
    await writeCheckpoint(join(directory, 'model-2'), [])
    expect(await latestCheckpoint(directory)).toBe(join(directory, 'model-2'))
    expect(await readCheckpointState(directory)).toEqual(STATE)
  })

  it('takes absolute paths as they are and refuses a damaged state file', async () => {
    const [directory, elsewhere] = [await temporaryDirectory(), await temporaryDirectory()]
    await writeCheckpoint(join(elsewhere, 'model'), [])
    await writeCheckpointState(directory, { ...STATE, modelCheckpointPath: join(elsewhere, 'model') })
    expect(await latestCheckpoint(directory)).toBe(join(elsewhere, 'model'))
    await writeFile(join(directory, 'checkpoint'), '\0\0')
    await expect(latestCheckpoint(directory)).rejects.toThrow(coded('ERR_CHECKPOINT_CORRUPT'))
  })
})
