import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Call } from './file_calls.js'
import { type Fault, injectFault } from './file_faults.js'
import { checkNothingElse, contentsOf, latestStep, SCENARIOS, type ScenarioName, saveStep } from './save_scenarios.js'

export { CALLS } from './file_calls.js'
export { SCENARIOS } from './save_scenarios.js'

export interface Counts {
  readonly interrupted: number
  /** Interruptions after which the old checkpoint was the latest, and those after which the new one was. */
  readonly old: number
  readonly new: number
}

/** A directory as a scenario has it before the save, for as long as `use` runs. */
async function inDirectory<Result>(name: ScenarioName, use: (directory: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'save-faults-'))
  const directory = join(folder, 'run')
  try {
    await mkdir(directory)
    for (const step of SCENARIOS[name].before) await saveStep(directory, SCENARIOS[name], step)
    return await use(directory)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** After an interruption the old or the new checkpoint is complete; after the next save only listed files exist. */
export async function checkInterrupted(directory: string, name: ScenarioName): Promise<'old' | 'new'> {
  const { before, step } = SCENARIOS[name]
  const found = await latestStep(directory)
  if (found !== step && found !== (before.at(-1) ?? 0))
    throw new Error(`the latest checkpoint is that of step ${found}`)
  await saveStep(directory, SCENARIOS[name], step + 1)
  await checkNothingElse(directory)
  if ((await latestStep(directory)) !== step + 1) throw new Error('the next save is not the latest')
  return found === step ? 'new' : 'old'
}

/**
 * Fails every call of one kind in turn, or every `stride`-th: the save rejects with a code and changes nothing, or is
 * done.
 */
export async function failEveryCall(name: ScenarioName, call: Call, stride = 1): Promise<Counts> {
  const counts = { interrupted: 0, old: 0, new: 0 }
  for (let n = 1; ; n += stride) {
    const happened = await inDirectory(name, async (directory) => {
      const before = await contentsOf(directory)
      const restore = injectFault(directory, { call, n, kind: 'error' })
      let happened = false
      const error = await saveStep(directory, SCENARIOS[name], SCENARIOS[name].step)
        .then(
          () => undefined,
          (reason: unknown) => reason,
        )
        .finally(() => {
          happened = restore()
        })
      if (!happened) return false
      if (error !== undefined) {
        if ((error as { code?: string }).code !== 'ERR_CHECKPOINT_IO') throw error
        const after = await contentsOf(directory)
        if (JSON.stringify(after) !== JSON.stringify(before)) {
          throw new Error(`${call} ${n}: a save that failed left ${Object.keys(after).join(', ')}`)
        }
      }
      counts[await checkInterrupted(directory, name)]++
      return true
    })
    if (!happened) return counts
    counts.interrupted++
  }
}

/** Kills a saving process before or after every call in turn, or every `stride`-th. */
export async function killAtEveryCall(
  program: string,
  name: ScenarioName,
  kind: 'kill-before' | 'kill-after',
  stride = 1,
): Promise<Counts> {
  const counts = { interrupted: 0, old: 0, new: 0 }
  for (let n = 1; ; n += stride) {
    const killed = await inDirectory(name, async (directory) => {
      const child = start(program, directory, name, { n, kind })
      let output = ''
      child.stdout?.on('data', (piece: Buffer) => {
        output += piece.toString()
      })
      const [, signal] = await once(child, 'close')
      // A process of Windows that ends itself has no signal; one that was not killed prints a line.
      if (signal !== 'SIGKILL' && (process.platform !== 'win32' || output !== '')) return false
      counts[await checkInterrupted(directory, name)]++
      return true
    })
    if (!killed) return counts
    counts.interrupted++
  }
}

/** Kills processes that save without end, at random moments; every save that was acknowledged must be there. */
export async function killAtRandom(
  program: string,
  name: ScenarioName,
  kills: number,
  random: () => number,
): Promise<Counts> {
  const counts = { interrupted: 0, old: 0, new: 0 }
  await inDirectory(name, async (directory) => {
    for (; counts.interrupted < kills; counts.interrupted++) {
      const child = start(program, directory, name, 'forever')
      const acknowledged = await killAfter(child, 1 + Math.floor(random() * 3), random() * 40)
      const found = await latestStep(directory)
      if (found < acknowledged) throw new Error(`step ${acknowledged} was saved, and ${found} is the latest`)
      counts[found === acknowledged ? 'old' : 'new']++
    }
    await saveStep(directory, SCENARIOS[name], (await latestStep(directory)) + 1)
    await checkNothingElse(directory)
  })
  return counts
}

function start(program: string, directory: string, name: ScenarioName, mode: Fault | 'forever'): ChildProcess {
  const text = mode === 'forever' ? mode : JSON.stringify(mode)
  return spawn(process.execPath, [program, directory, name, text], { stdio: ['ignore', 'pipe', 'inherit'] })
}

/** Kills after some saves and milliseconds; returns the last step that was acknowledged. */
async function killAfter(child: ChildProcess, saves: number, milliseconds: number): Promise<number> {
  const closed = once(child, 'close')
  let output = ''
  await new Promise<void>((resolve) => {
    child.stdout?.on('data', (piece: Buffer) => {
      output += piece.toString()
      if (output.split('\n').length > saves) resolve()
    })
    void closed.then(() => resolve())
  })
  await new Promise((resolve) => setTimeout(resolve, milliseconds))
  child.kill('SIGKILL')
  const [, signal] = await closed
  if (signal !== 'SIGKILL') throw new Error(`the program exited: ${output}`)
  return Number(/saved (\d+)\n(?:saved \d*)?$/.exec(output)?.[1] ?? 0)
}
