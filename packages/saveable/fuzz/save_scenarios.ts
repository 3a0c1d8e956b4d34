import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { latestCheckpoint, openCheckpoint, readCheckpointState, resolvePath } from '@cudnn-rnn/checkpoint'
import { Saver } from '../src/index.js'
import { savedTensors, stepRestored } from './saved_tensors.js'

/** Interrupted saves, and the directory before them. Every save is one of {@link saveStep}. */
export const SCENARIOS = {
  'a new prefix': { before: [1, 2], step: 3, maxToKeep: 2, named: true },
  'the first save of a directory': { before: [], step: 1, maxToKeep: 2, named: true },
  'a prefix without a step, again': { before: [1, 2], step: 3, maxToKeep: 5, named: false },
  'a prefix that is full of old shards': { before: [1, 2, 3], step: 4, maxToKeep: 1, named: false },
} as const satisfies Record<string, Scenario>

export type ScenarioName = keyof typeof SCENARIOS

interface Scenario {
  /** Steps saved before. */
  readonly before: readonly number[]
  /** The step whose save is interrupted. */
  readonly step: number
  readonly maxToKeep: number
  /** Whether each step has its own prefix; else all are saved over `model`. */
  readonly named: boolean
}

const KIBIBYTES = 16

/** Saves the tensors of `step`. */
export async function saveStep(directory: string, { maxToKeep, named }: Scenario, step: number): Promise<string> {
  const saver = new Saver(savedTensors(KIBIBYTES, step).saveables, { maxToKeep })
  return await saver.save(join(directory, 'model'), named ? { globalStep: step } : {})
}

/** The step that a checkpoint holds, every bit of it checked. */
async function stepOfCheckpoint(prefix: string): Promise<number> {
  const { saveables, restored } = savedTensors(KIBIBYTES, 0)
  await new Saver(saveables).restore(prefix)
  return stepRestored(KIBIBYTES, restored)
}

/**
 * The step of the latest checkpoint, 0 if there is none. Throws if it, or any other that is listed, is not whole; one
 * whose removal was interrupted is listed without an index.
 */
export async function latestStep(directory: string): Promise<number> {
  const { allModelCheckpointPaths = [] } = (await readCheckpointState(directory)) ?? {}
  for (const path of allModelCheckpointPaths) {
    const prefix = resolvePath(directory, path)
    if (existsSync(`${prefix}.index`)) await stepOfCheckpoint(prefix)
  }
  const latest = await latestCheckpoint(directory)
  if (latest === null && allModelCheckpointPaths.length > 0) throw new Error('the state lists a missing checkpoint')
  return latest === null ? 0 : await stepOfCheckpoint(latest)
}

/** Throws if a directory holds anything but its state file and the files of the checkpoints listed in it. */
export async function checkNothingElse(directory: string): Promise<void> {
  const expected = ['checkpoint']
  for (const path of (await readCheckpointState(directory))?.allModelCheckpointPaths ?? []) {
    const prefix = resolvePath(directory, path)
    const name = prefix.slice(directory.length + 1)
    await (await openCheckpoint(prefix)).close()
    const shards = (await readdir(directory)).filter((file) => file.startsWith(`${name}.data-`))
    if (shards.length !== 1) throw new Error(`${name} has ${shards.length} data files: ${shards.join(', ')}`)
    expected.push(`${name}.index`, ...shards)
  }
  const actual = (await readdir(directory)).sort()
  if (actual.join() !== expected.sort().join()) throw new Error(`unlisted files: ${actual.join(', ')}`)
}

/** Every file of a directory and its bytes. */
export async function contentsOf(directory: string): Promise<Record<string, string>> {
  const contents: Record<string, string> = {}
  for (const name of (await readdir(directory)).sort()) {
    contents[name] = (await readFile(join(directory, name))).toString('latin1')
  }
  return contents
}
