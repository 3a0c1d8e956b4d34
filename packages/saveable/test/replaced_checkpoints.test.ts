import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { hasErrorCode } from '@cudnn-rnn/canonical'
import { latestCheckpoint, openCheckpoint } from '@cudnn-rnn/checkpoint'
import { describe, expect, it } from 'vitest'
import { savedTensors, stepRestored } from '../fuzz/saved_tensors.js'
import { type NumericTensor, Saver } from '../src/index.js'
import { useConcurrentProgram } from './concurrent_program.js'

const { program, newDirectory } = await useConcurrentProgram()

const save = (path: string, step: number, globalStep?: number) =>
  new Saver(savedTensors(1, step).saveables, { maxToKeep: 1 }).save(path, { globalStep })

/** The step of a checkpoint that one reader reads tensor by tensor. */
async function stepRead(prefix: string, verifyTensors: boolean): Promise<number> {
  await using reader = await openCheckpoint(prefix, { verifyTensors })
  const tensors = new Map<string, NumericTensor>()
  for (const name of reader.names()) tensors.set(name, (await reader.read(name)) as NumericTensor)
  return stepRestored(1, tensors)
}

async function stepOf(prefix: string): Promise<number> {
  const { saveables, restored } = savedTensors(1, 0)
  await new Saver(saveables).restore(prefix)
  return stepRestored(1, restored)
}

describe.each([true, false])('A reader with verifyTensors %s', (verifyTensors) => {
  it.each([1, 2, 3])('of a prefix that was saved over %i times states that it was replaced', async (times) => {
    const prefix = await save(join(await newDirectory(), 'model'), 1)
    const reader = await openCheckpoint(prefix, { verifyTensors })
    for (let step = 2; step <= 1 + times; step++) await save(prefix, step)
    for (const name of reader.names()) {
      await expect(reader.read(name)).rejects.toMatchObject({ code: 'ERR_CHECKPOINT_REPLACED', path: prefix })
    }
    await reader.close()
    expect(await stepRead(prefix, verifyTensors)).toBe(1 + times)
  })

  it('of a checkpoint that maxToKeep removed states that it was removed', async () => {
    const path = join(await newDirectory(), 'model')
    const prefix = await save(path, 1, 1)
    const reader = await openCheckpoint(prefix, { verifyTensors })
    await save(path, 2, 2)
    await expect(reader.read(reader.names()[0]!)).rejects.toMatchObject({ code: 'ERR_CHECKPOINT_REPLACED' })
    await reader.close()
    await expect(openCheckpoint(prefix)).rejects.toMatchObject({ code: 'ERR_CHECKPOINT_NOT_FOUND' })
  })
})

/** Saves in a separate process and a separate thread until both are done; `look` runs again and again meanwhile. */
async function whileSaving(directory: string, prefixes: 'own' | 'same', look: () => Promise<void>): Promise<void> {
  const parameters = (name: string) => [directory, name, '25', '1', prefixes]
  const child = spawn(process.execPath, [program, ...parameters('process')], { stdio: 'inherit' })
  const thread = new Worker(program, { workerData: parameters('thread') })
  let isSaving = true
  const saved = Promise.all([once(child, 'close'), once(thread, 'exit')]).finally(() => {
    isSaving = false
  })
  while (isSaving) await look()
  for (const [code] of await saved) expect(code).toBe(0)
}

/** Errors after which a reader opens the latest checkpoint again. */
const RETRIED = ['ERR_CHECKPOINT_NOT_FOUND', 'ERR_CHECKPOINT_REPLACED']

it('Readers beside savers with maxToKeep 1 read one whole checkpoint, or report that it was removed', async () => {
  const directory = await newDirectory()
  await save(join(directory, 'first'), 1, 1)
  const counts = { whole: 0, gone: 0 }
  await whileSaving(directory, 'own', async () => {
    for (const read of [
      stepOf,
      (prefix: string) => stepRead(prefix, true),
      (prefix: string) => stepRead(prefix, false),
    ]) {
      const prefix = await latestCheckpoint(directory)
      // The state file is replaced before a checkpoint is removed.
      expect(prefix).not.toBeNull()
      await read(prefix!).then(
        () => counts.whole++,
        (error: unknown) => {
          if (!hasErrorCode(error, ...RETRIED)) throw error
          counts.gone++
        },
      )
    }
  })
  expect(counts.whole).toBeGreaterThan(0)
  expect(counts.whole + counts.gone).toBeGreaterThan(10)
})

it('Saver.restore beside savers of the same prefix reads one of their saves', async () => {
  const directory = await newDirectory()
  const prefix = await save(join(directory, 'model'), 1)
  await whileSaving(directory, 'same', async () => {
    expect(await stepOf(prefix)).toBeGreaterThan(0)
  })
})
