import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openBackend } from '@cudnn-rnn/rnn'
import { readMetrics } from '@cudnn-rnn/rnn/train'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { restoreModel } from '../../src/character/training_run.js'
import { SMALL_TEXT, smallRun, temporaryDirectory, trainCharacters, writeSmallText } from '../small_run.js'

/** Everything that was logged since the run began, without its seconds. */
async function trainOn(...given: Parameters<typeof trainCharacters>) {
  const { training, run } = await trainCharacters(...given)
  run.dispose()
  const { reports, ending } = training
  return { run, ending, reports: reports.map((report) => ({ ...report, seconds: 0 })) }
}

describe('TrainingRun', () => {
  it.each([
    ['one layer', {}],
    ['two layers with dropout', { numLayers: 2, dropout: 0.5 }],
  ])('resumes exactly where it stopped: every loss as in an uninterrupted run, with %s', async (_, sizes) => {
    const directory = await temporaryDirectory()
    const settings = smallRun(await writeSmallText(directory), sizes)
    const [whole, parts] = [join(directory, 'whole'), join(directory, 'parts')]
    const { ending, reports } = await trainOn(whole, 'reference', settings)

    expect(await trainOn(parts, 'reference', settings, 3)).toMatchObject({ ending: 'interrupted' })
    await trainOn(parts, 'reference', undefined, 6)
    expect(await trainOn(parts, 'reference')).toMatchObject({ ending, reports })
    expect(reports.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  it('evaluates as often as the plan specifies, learns, and keeps its last two checkpoints and the best', async () => {
    const directory = await temporaryDirectory()
    await trainOn(directory, 'reference', smallRun(await writeSmallText(directory), {}))
    const evaluated = (await readMetrics(join(directory, 'metrics.jsonl'))).filter(
      ({ metrics }) => metrics !== undefined,
    )
    expect(evaluated.map(({ step }) => step)).toEqual([4, 8])
    const [before, after] = evaluated.map(({ metrics }) => metrics!['heldOutBits']) as [number, number]
    expect(after).toBeLessThan(before)
    expect((await readdir(directory)).sort()).toEqual([
      'best',
      'checkpoint',
      'events',
      'metrics.jsonl',
      ...['model-4', 'model-8'].flatMap((name) => [`${name}.data-00000-of-00001`, `${name}.index`]),
      'run.json',
      'small.txt',
    ])
  })

  it('leaves nothing alive when it is disposed', async () => {
    const directory = await temporaryDirectory()
    const { run } = await trainOn(directory, 'reference', smallRun(await writeSmallText(directory), {}))
    expect(run.backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
  })

  it('refuses a run that another version began', async () => {
    const directory = await temporaryDirectory()
    const path = join(directory, 'run.json')
    await trainOn(directory, 'reference', smallRun(await writeSmallText(directory), {}), 2)
    const record = await readFile(path, 'utf8')
    await writeFile(path, record.replace('character model 3', 'character model 2'))
    const refused = trainCharacters(directory, 'reference')
    await expect(refused).rejects.toThrow(coded('ERR_NO_RUN', { format: 'cudnn-rnn character model 2' }))
    await expect(refused).rejects.toThrow(/another version began this one/)
  })

  it('refuses to go on with another text', async () => {
    const directory = await temporaryDirectory()
    const path = await writeSmallText(directory)
    await trainOn(directory, 'reference', smallRun(path, {}), 2)
    await writeFile(path, SMALL_TEXT.replace('call', 'cell'))
    await expect(trainCharacters(directory, 'reference')).rejects.toThrow(coded('ERR_DATA_CHANGED'))
    await writeFile(path, `${SMALL_TEXT}Z`)
    await expect(trainCharacters(directory, 'reference')).rejects.toThrow(coded('ERR_UNKNOWN_SYMBOL'))
  })
})

describe('restoreModel', () => {
  it('gives back the very parameters that were trained', async () => {
    const directory = await temporaryDirectory()
    const settings = smallRun(await writeSmallText(directory), {})
    const { run } = await trainCharacters(directory, 'reference', settings)
    const { model } = await restoreModel(directory, await openBackend('reference'))
    for (const [index, variable] of model.variables.entries()) {
      expect((await variable.value.read()).data).toEqual((await run.model.variables[index].value.read()).data)
    }
    expect(model.variables).toHaveLength(4)
  })

  it('reports that nothing was saved yet', async () => {
    const directory = await temporaryDirectory()
    await trainOn(directory, 'reference', smallRun(await writeSmallText(directory), {}), 1)
    for (const name of await readdir(directory)) {
      if (/^(?:best|checkpoint|model-)/.test(name)) await rm(join(directory, name), { recursive: true })
    }
    await expect(restoreModel(directory, await openBackend('reference'))).rejects.toThrow(coded('ERR_NO_RUN'))
  })
})
