import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { readCheckpointState } from '@cudnn-rnn/checkpoint'
import { describe, expect, it } from 'vitest'
import { checkNothingElse } from '../fuzz/save_scenarios.js'
import { savedTensors, stepRestored } from '../fuzz/saved_tensors.js'
import { Saver } from '../src/index.js'
import { useConcurrentProgram } from './concurrent_program.js'

const SAVERS = 4
const ROUNDS = 12
const KEPT = 3

const { program, newDirectory } = await useConcurrentProgram()

/** Saves in this thread; rejects if one save does. */
async function saveHere(directory: string, name: string, prefixes: 'own' | 'same'): Promise<void> {
  for (let round = 1; round <= ROUNDS; round++) {
    const saver = new Saver(savedTensors(1, round).saveables, { maxToKeep: KEPT })
    if (prefixes === 'same') await saver.save(join(directory, 'model'))
    else await saver.save(join(directory, name), { globalStep: round })
  }
}

async function saveInThread(...args: string[]): Promise<void> {
  const [code] = await once(new Worker(program, { workerData: args }), 'exit')
  expect(code).toBe(0)
}

async function saveInProcess(...args: string[]): Promise<void> {
  const [code] = await once(spawn(process.execPath, [program, ...args], { stdio: 'inherit' }), 'close')
  expect(code).toBe(0)
}

const WAYS = {
  'one thread': saveHere,
  'worker threads': (directory: string, name: string, prefixes: string) =>
    saveInThread(directory, name, String(ROUNDS), String(KEPT), prefixes),
  processes: (directory: string, name: string, prefixes: string) =>
    saveInProcess(directory, name, String(ROUNDS), String(KEPT), prefixes),
}

const names = Array.from({ length: SAVERS }, (_, n) => `model${n}`)

describe.each(Object.entries(WAYS))('Savers in %s that save into one directory at once', (_, save) => {
  it('all succeed, share one history of maxToKeep, and leave nothing else', async () => {
    const directory = await newDirectory()
    await Promise.all(names.map((name) => save(directory, name, 'own')))
    expect((await readCheckpointState(directory))?.allModelCheckpointPaths).toHaveLength(KEPT)
    await checkNothingElse(directory)
  })

  it('over one prefix, leave one save whole', async () => {
    const directory = await newDirectory()
    await Promise.all(names.map((name) => save(directory, name, 'same')))
    const { saveables, restored } = savedTensors(1, 0)
    await new Saver(saveables).restore(join(directory, 'model'))
    expect(stepRestored(1, restored)).toBe(ROUNDS)
    await checkNothingElse(directory)
  })
})

it('Savers in threads and processes at once, some of them ended in the midst of it', async () => {
  const directory = await newDirectory()
  const killed = spawn(process.execPath, [program, directory, 'killed', '1000', String(KEPT), 'own'])
  // Other systems do not name threads: files of one that was ended are there until its process ends.
  const hasThreads = process.platform === 'linux'
  const terminated =
    hasThreads && new Worker(program, { workerData: [directory, 'terminated', '1000', String(KEPT), 'own'] })
  const finished = Promise.all(Object.values(WAYS).map((save, n) => save(directory, `model${n}`, 'own')))
  for (let look = 0; look < 200 && (await readdir(directory)).length < 4; look++) await tick()
  killed.kill('SIGKILL')
  await once(killed, 'close')
  if (terminated) await terminated.terminate()
  await finished
  await saveHere(directory, 'last', 'own')
  await checkNothingElse(directory)
  expect((await readCheckpointState(directory))?.allModelCheckpointPaths).toHaveLength(KEPT)
})

it('Saver.save removes temporary files of processes that ended, and no others', async () => {
  const directory = await newDirectory()
  const child = spawn(process.execPath, [program, directory, 'model', '1', '5', 'own'])
  await once(child, 'close')
  const random = 'a'.repeat(32)
  // Names from a thread of this process contain host, pid, thread and start.
  const running = await ownToken(directory)
  const [host, pid, thread] = running.split('-')
  const ended = `model-9.data.${host}-${child.pid}-${child.pid}-1-${random}.tmp`
  const reused = `model-9.index.${host}-${pid}-${thread}-1-${random}.tmp`
  const elsewhere = `model-9.index.00000000-${pid}-${thread}-1-${random}.tmp`
  const alive = `model-9.index.${running}.tmp`
  for (const name of [ended, reused, elsewhere, alive, 'mine.tmp']) await writeFile(join(directory, name), '')
  await saveHere(directory, 'model', 'own')
  const left = (await readdir(directory)).filter((name) => name.endsWith('.tmp')).sort()
  expect(left).toEqual([alive, elsewhere, 'mine.tmp'].sort())
})

/** A token of this thread: the name of a temporary file that one of its saves makes. */
async function ownToken(directory: string): Promise<string> {
  let token: string | undefined
  const looking = new Saver([
    {
      ...savedTensors(1, 1).saveables[0]!,
      name: 'looking',
      tensors: async () => {
        const name = (await readdir(directory)).find((each) => each.endsWith('.tmp'))
        token = /\.data\.(.*)\.tmp$/.exec(name ?? '')?.[1]
        return new Map()
      },
    } as never,
  ])
  await looking.save(join(directory, 'model'), { globalStep: 1000 })
  if (token === undefined) throw new Error('a save made no temporary file')
  return token
}

const tick = () => new Promise((resolve) => setTimeout(resolve, 5))
