import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openBackend } from '@cudnn-rnn/rnn'
import { describe, expect, it } from 'vitest'
import { readRunRecord } from '../src/run_record.js'
import { restoreModel } from '../src/run_storage.js'
import type { StepRecord } from '../src/trainer.js'
import { TrainingRun } from '../src/training_run.js'
import { smallRun, temporaryDirectory, writeSmallText } from './small_run.js'

/** Trains to the end, or to `stopAfter`; returns everything that was logged since the run began. */
async function trainOn(run: TrainingRun, stopAfter = Number.POSITIVE_INFINITY): Promise<readonly StepRecord[]> {
  const controller = new AbortController()
  const onStep = ({ step }: StepRecord) => {
    if (step === stopAfter) controller.abort()
  }
  await run.run({ onStart: () => undefined, onStep }, { signal: controller.signal })
  run.dispose()
  return run.history
}

describe('TrainingRun', () => {
  it.each([
    ['one layer', {}],
    ['two layers with dropout', { numLayers: 2, dropout: 0.5 }],
  ])('resumes exactly where it stopped: every loss as in an uninterrupted run, with %s', async (_, sizes) => {
    const directory = await temporaryDirectory()
    const settings = smallRun(await writeSmallText(directory), sizes)
    const [whole, parts] = [join(directory, 'whole'), join(directory, 'parts')]
    const uninterrupted = await trainOn(await TrainingRun.create(whole, 'reference', settings))

    await trainOn(await TrainingRun.create(parts, 'reference', settings), 3)
    const second = await TrainingRun.resume(parts, 'reference')
    expect(second.startStep).toBe(3)
    await trainOn(second, 6)
    expect(await trainOn(await TrainingRun.resume(parts, 'reference'))).toEqual(uninterrupted)
    expect(uninterrupted.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  it('leaves nothing alive when model and optimizer are disposed', async () => {
    const directory = await temporaryDirectory()
    const run = await TrainingRun.create(directory, 'reference', smallRun(await writeSmallText(directory), {}))
    await run.run({ onStart: () => undefined, onStep: () => undefined }, {})
    run.adam.dispose()
    run.model.dispose()
    expect(run.backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
  })
})

describe('restoreModel', () => {
  it('gives back the very parameters that were trained, and a run keeps its last two checkpoints', async () => {
    const directory = await temporaryDirectory()
    const run = await TrainingRun.create(directory, 'reference', smallRun(await writeSmallText(directory), {}))
    await run.run({ onStart: () => undefined, onStep: () => undefined }, {})
    const model = await restoreModel(directory, await openBackend('reference'), await readRunRecord(directory))
    for (const [index, variable] of model.variables.entries()) {
      expect((await variable.value.read()).data).toEqual((await run.model.variables[index]!.value.read()).data)
    }
    expect((await readdir(directory)).sort()).toEqual([
      'checkpoint',
      ...['model-4', 'model-8'].flatMap((name) => [`${name}.data-00000-of-00001`, `${name}.index`]),
      'run.json',
      'small.txt',
    ])
  })
})
