import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bundleProgram } from '../../../../scripts/testing/bundle_program.mjs'

/** Kills of the run. The nightly workflow sets 5. */
const KILLS = Number(process.env['CUDNN_RNN_KILLS'] ?? 2)
/** Each start is killed within 12 steps of it, or some steps later. */
const STEPS = 100 * (1 + KILLS)

let folder: string
let program: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'train-kill-'))
  program = join(folder, 'killed_run.mjs')
  // The readers of tables are not used here.
  const external = ['apache-arrow', 'hyparquet', 'hyparquet-compressors']
  await bundleProgram(fileURLToPath(new URL('killed_run.ts', import.meta.url)), program, { external })
})
afterAll(() => rm(folder, { recursive: true }))

/** Runs until the end, or until a moment after `killAfter` steps of this process; returns the signal that ended it. */
async function train(directory: string, killAfter = Number.POSITIVE_INFINITY): Promise<NodeJS.Signals | null> {
  const child = spawn(process.execPath, [program, directory, String(STEPS)], { stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (piece: Buffer) => {
    errors += piece.toString()
  })
  let steps = 0
  child.stdout.on('data', async (piece: Buffer) => {
    steps += piece.toString().split('\n').length - 1
    if (steps < killAfter || child.killed) return
    // Anywhere in the steps that follow: in a forward pass, in a save, between the two renames of one.
    await setTimeout(Math.random() * 8)
    child.kill('SIGKILL')
  })
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
    child.on('close', (...ending) => resolve(ending)),
  )
  if (code !== 0 && signal === null) throw new Error(errors)
  return signal
}

async function run(name: string, kills: number) {
  const directory = await mkdtemp(join(folder, name))
  let killed = 0
  while (killed < kills) {
    if ((await train(directory, 1 + Math.floor(Math.random() * 12))) === 'SIGKILL') killed++
    else break
  }
  await train(directory)
  const files = ['metrics.jsonl', 'latest.checkpoint', 'best.checkpoint']
  return { killed, files: await Promise.all(files.map((file) => readFile(join(directory, file)))) }
}

it('fit that is killed at random moments and resumed leaves the very bytes of an uninterrupted run', async () => {
  const whole = await run('whole', 0)
  const killed = await run('killed', KILLS)
  expect(killed.killed).toBe(KILLS)
  expect(whole.files[0].toString().trimEnd().split('\n')).toHaveLength(STEPS)
  expect(killed.files[0].toString()).toBe(whole.files[0].toString())
  expect(killed.files[1].equals(whole.files[1])).toBe(true)
  expect(killed.files[2].equals(whole.files[2])).toBe(true)
}, 60_000)
