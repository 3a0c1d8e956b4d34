import { mkdir, mkdtemp, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeCheckpoint } from '@cudnn-rnn/checkpoint'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { readTask, taskNote } from '../../src/tasks/task_record.js'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'task-record-'))
})
afterEach(() => rm(folder, { recursive: true }))

const RECORD = { format: 1, labels: ['ham', 'spam 🐋'] }

/** Writes tensors as the checkpoint at a place below the folder. */
async function written(place: string, tensors: Readonly<Record<string, object>>): Promise<string> {
  const prefix = join(folder, place)
  await writeCheckpoint(prefix, Object.entries(tensors) as never)
  return prefix
}

const bytes = (...data: number[]) => ({ data: Uint8Array.from(data), shape: [data.length] })

describe('readTask', () => {
  it('reads the record that taskNote made, at a prefix', async () => {
    const prefix = await written('model', taskNote('text_classifier', RECORD))
    expect(await readTask('text_classifier', prefix)).toEqual({ prefix, record: RECORD })
  })

  it('finds the checkpoint of a run by its directory', async () => {
    await mkdir(join(folder, 'forecaster'))
    const prefix = await written('forecaster/model', taskNote('forecaster', { format: 1 }))
    expect(await readTask('forecaster', folder)).toEqual({ prefix, record: { format: 1 } })
    await expect(readTask('text_classifier', folder)).rejects.toMatchObject({
      ...{ code: 'ERR_NOT_A_CLASSIFIER', path: folder },
      message: expect.stringMatching(/must hold one: it holds a forecaster$/),
    })
  })

  it('refuses a path without a checkpoint', async () => {
    await expect(readTask('forecaster', join(folder, 'none'))).rejects.toMatchObject({
      code: 'ERR_NOT_A_FORECASTER',
      message: expect.stringMatching(/no checkpoint of one is there/),
    })
  })

  it('refuses a checkpoint of another kind', async () => {
    const prefix = await written('model', { kernel: bytes(1) })
    await expect(readTask('forecaster', prefix)).rejects.toMatchObject({
      code: 'ERR_NOT_A_FORECASTER',
      message: expect.stringMatching(/the checkpoint has no forecaster$/),
    })
  })

  it.each([
    ['text that is not JSON', [0x7b]],
    ['bytes that are not UTF-8', [0x22, 0xff, 0x22]],
    ['a JSON number', [0x37]],
    ['null', [0x6e, 0x75, 0x6c, 0x6c]],
    ['nothing', []],
  ])('refuses a record of %s', async (_, data) => {
    const prefix = await written('model', { forecaster: bytes(...data) })
    await expect(readTask('forecaster', prefix)).rejects.toMatchObject({
      code: 'ERR_NOT_A_FORECASTER',
      message: expect.stringMatching(/its forecaster must be a JSON object in UTF-8$/),
    })
  })

  it('hands on the error of a damaged checkpoint', async () => {
    const prefix = await written('model', taskNote('forecaster', { format: 1 }))
    await truncate(`${prefix}.index`, 20)
    await expect(readTask('forecaster', prefix)).rejects.toThrow(coded('ERR_CHECKPOINT_CORRUPT'))
  })
})
