import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { CharModelSizes } from '../src/character/char_language_model.js'
import { openCommunicator } from '@cudnn-rnn/rnn'
import { openTraining } from '../src/character/run_training.js'
import {
  type AskedSettings,
  CHARACTER_FORMAT,
  type CharacterResult,
  type CharacterSettings,
  type TrainingPlan,
  type TrainingRun,
} from '../src/character/training_run.js'
import { beginOnFirst } from '../src/ranks.js'
import { beginRun, readRunSettings } from '../src/run_settings.js'

/** 3,600 characters of 10 kinds that a small model learns quickly. */
export const SMALL_TEXT = 'call me. some sea, call.\n'.repeat(144)

export const SMALL_SIZES: CharModelSizes = {
  vocabularySize: 10,
  embeddingSize: 4,
  numUnits: 6,
  numLayers: 1,
  dropout: 0,
}

/** Options of a forecast that trains in a second. */
export const SMALL_FORECAST = '--season 6 --window 8 --horizon 4 --held-out 20 --units 6'.split(' ')

export const SMALL_PLAN: TrainingPlan = {
  steps: 8,
  time: 6,
  batch: 3,
  learningRate: 0.02,
  evaluateEvery: 4,
  seed: 5,
}

/** A directory that is removed with everything in it when the test ends. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'cudnn-rnn-cli-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}

/** Writes {@link SMALL_TEXT} into `directory` and returns the path. */
export async function writeSmallText(directory: string): Promise<string> {
  const path = join(directory, 'small.txt')
  await writeFile(path, SMALL_TEXT)
  return path
}

export function smallRun(
  textFile: string,
  changes: { steps?: number; dropout?: number; numLayers?: number },
): AskedSettings {
  const { steps = SMALL_PLAN.steps, ...sizes } = changes
  return { textFile, plan: { ...SMALL_PLAN, steps }, sizes: { ...SMALL_SIZES, ...sizes } }
}

/** Trains a new run, or resumes one without `settings`, in this process: without output, to the end or to the step `stopAfter`. */
export async function trainCharacters(
  directory: string,
  backend: string,
  settings?: AskedSettings,
  stopAfter = Number.POSITIVE_INFINITY,
): Promise<CharacterResult & { readonly run: TrainingRun }> {
  await using world = await openCommunicator('none')
  const saved = settings === undefined ? await readRunSettings<CharacterSettings>(directory, CHARACTER_FORMAT) : null
  const run = await openTraining(world, { directory, backend }, settings ?? (saved as CharacterSettings), saved)
  await using _lock = await beginOnFirst(world, run.checkpoints, async () => {
    if (saved === null) await beginRun(directory, run.settings)
  })
  const controller = new AbortController()
  const onStep = ({ step }: { readonly step: number }) => {
    if (step === stopAfter) controller.abort()
  }
  const { signal } = controller
  const result = await run.run({ json: false, isResumed: saved !== null, quiet: true, signal, onStep })
  return { ...(result as CharacterResult), run }
}
