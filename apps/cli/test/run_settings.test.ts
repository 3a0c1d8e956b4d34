import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { runTask, taskOf } from '../src/run_kind.js'
import { beginRun, checkNoRun, isResume, readRunSettings, writeRunSettings } from '../src/run_settings.js'
import { temporaryDirectory } from './small_run.js'

const FORECAST = 'cudnn-rnn forecast 2'
const settings = { format: FORECAST, steps: 3 }

describe('beginRun', () => {
  it('makes the directory and writes the settings, which are read back', async () => {
    const directory = join(await temporaryDirectory(), 'runs', 'a')
    expect(() => checkNoRun(directory)).not.toThrow()
    expect([true, 'auto' as const, undefined].map((resume) => isResume(directory, resume))).toEqual([
      true,
      false,
      false,
    ])
    await beginRun(directory, settings)
    expect(await readRunSettings(directory, FORECAST)).toEqual(settings)
    expect(() => checkNoRun(directory)).toThrow(coded('ERR_RUN_EXISTS', { directory }))
    expect([true, 'auto' as const, undefined].map((resume) => isResume(directory, resume))).toEqual([true, true, false])
  })

  it('removes the files of the run before, and leaves those of others', async () => {
    const directory = await temporaryDirectory()
    const ofRun = ['checkpoint', 'metrics.jsonl', 'model-12.index', 'model-12.data-00000-of-00001', 'run.json.1.tmp']
    const others = ['notes.txt', 'model-a.index', 'my-model-1.index', 'report.html', 'checkpoint.old']
    for (const name of [...ofRun, ...others]) await writeFile(join(directory, name), '')
    for (const name of ['best', 'events', 'mine']) {
      await mkdir(join(directory, name))
      await writeFile(join(directory, name, 'file'), '')
    }
    await beginRun(directory, settings)
    expect((await readdir(directory)).sort()).toEqual([...others, 'mine', 'run.json'].sort())
    expect(await readdir(join(directory, 'mine'))).toEqual(['file'])
  })

  it('refuses a directory that cannot be made', async () => {
    const file = join(await temporaryDirectory(), 'file')
    await writeFile(file, 'precious')
    await expect(beginRun(join(file, 'run'), settings)).rejects.toThrow(coded('ERR_OUTPUT_DIRECTORY'))
    expect(await readFile(file, 'utf8')).toBe('precious')
  })
})

describe('readRunSettings', () => {
  it.each<[string, string | undefined, RegExp]>([
    ['no record', undefined, /name the directory that was trained in$/],
    ['a record that is not JSON', '{"format":', /name the directory that was trained in$/],
    ['a record of another program', '{"format":"other 1"}', /name the directory that was trained in$/],
    [
      'a run of another task',
      '{"format":"cudnn-rnn classification 1"}',
      /a forecast run \(.*\): this is a classification run$/,
    ],
    [
      'a run of another version',
      '{"format":"cudnn-rnn forecast 1"}',
      /another version began this one \(cudnn-rnn forecast 1\)/,
    ],
  ])('refuses %s', async (_, record, message) => {
    const directory = await temporaryDirectory()
    if (record !== undefined) await writeFile(join(directory, 'run.json'), record)
    await expect(readRunSettings(directory, FORECAST)).rejects.toThrow(
      coded('ERR_NO_RUN', { directory, message: expect.stringMatching(message) }),
    )
  })

  it('refuses a record that cannot be read', async () => {
    const directory = await temporaryDirectory()
    const path = join(directory, 'run.json')
    await mkdir(path)
    const message = expect.stringContaining(`${path} must be readable`)
    await expect(readRunSettings(directory, FORECAST)).rejects.toThrow(coded('ERR_NO_RUN', { message }))
  })

  it('reads the settings that replaced those of the beginning', async () => {
    const directory = await temporaryDirectory()
    await beginRun(directory, settings)
    await writeRunSettings(directory, { ...settings, steps: 9 } as typeof settings)
    expect(await readRunSettings(directory, FORECAST)).toEqual({ ...settings, steps: 9 })
  })
})

it('taskOf names the task of a format of any version, and none for other values', () => {
  expect(taskOf('cudnn-rnn forecast 12')).toBe('a forecast run')
  expect(taskOf('cudnn-rnn character model 1')).toBe('a character model run')
  for (const other of ['cudnn-rnn', 'constructor 1', '__proto__', '', undefined, 7])
    expect(taskOf(other)).toBeUndefined()
})

it('runTask finds the task of a directory, and none in other paths', async () => {
  const directory = await temporaryDirectory()
  expect(await runTask(directory)).toBeUndefined()
  await beginRun(directory, settings)
  expect(await runTask(directory)).toBe('a forecast run')
  expect(await runTask(join(directory, 'run.json'))).toBeUndefined()
})
