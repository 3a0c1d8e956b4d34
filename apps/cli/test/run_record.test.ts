import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkNoRun, readRunRecord } from '../src/run_record.js'
import { coded, temporaryDirectory } from './small_run.js'

describe('readRunRecord', () => {
  it.each([
    ['no file', undefined],
    ['no JSON', '{"format":'],
    ['a record of another program', '{"format":"sketch"}'],
  ])('refuses a directory with %s', async (_, content) => {
    const directory = await temporaryDirectory()
    if (content !== undefined) await writeFile(join(directory, 'run.json'), content)
    await expect(readRunRecord(directory)).rejects.toMatchObject(coded('ERR_NO_RUN', { directory }))
  })
})

describe('checkNoRun', () => {
  it('refuses a directory that holds a run, and nothing else', async () => {
    const directory = await temporaryDirectory()
    expect(() => checkNoRun(directory)).not.toThrow()
    await writeFile(join(directory, 'run.json'), '{}')
    expect(() => checkNoRun(directory)).toThrow(expect.objectContaining({ code: 'ERR_RUN_EXISTS' }))
  })
})
