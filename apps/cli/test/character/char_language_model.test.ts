import { Dataset, type LayerBatch, openBackend } from '@cudnn-rnn/rnn'
import { truncatedWindows } from '@cudnn-rnn/rnn/train'
import { describe, expect, it } from 'vitest'
import { charLanguageModel, windowBatch } from '../../src/character/char_language_model.js'
import { bitsPerCharacter } from '../../src/character/evaluation.js'
import { createCorpus } from '../../src/character/text_corpus.js'
import { SMALL_SIZES, SMALL_TEXT } from '../small_run.js'

const { train, vocabulary } = createCorpus('small', SMALL_TEXT)
const sizes = { ...SMALL_SIZES, vocabularySize: vocabulary.size }
const windows = new Dataset(truncatedWindows(train, { time: 6, batch: 3 })).map(windowBatch)
const LOSS = { loss: 'softmax_cross_entropy' } as const

async function setUp(seed = 1) {
  const backend = await openBackend('reference')
  return { backend, model: charLanguageModel(backend, sizes, seed) }
}

/** The first windows of the text. */
async function first(count: number): Promise<LayerBatch[]> {
  const batches = windows.iterate()
  return Promise.all(Array.from({ length: count }, async () => (await batches.next()).value as LayerBatch))
}

describe('charLanguageModel', () => {
  it('lowers the loss of its windows by training on them', async () => {
    const { model } = await setUp()
    const before = await model.evaluate(await first(4), LOSS)
    await model.fit(windows, { ...LOSS, learningRate: 0.02, maxSteps: 4 })
    expect((await model.evaluate(await first(4))).loss).toBeLessThan(before.loss)
  })

  it('reads a window after the one before unlike a first one', async () => {
    const { model } = await setUp()
    const [one, two] = (await first(2)) as [LayerBatch, LayerBatch]
    const carried = await model.evaluate([one, two], LOSS)
    expect(await model.evaluate([one, two], LOSS)).toEqual(carried)
    expect((await model.evaluate([one, { ...two, restarts: true }], LOSS)).loss).not.toBe(carried.loss)
  })

  it('has log₂ V bits when its output layer is zero: every character is as likely', async () => {
    const { backend, model } = await setUp()
    const kernel = model.variables[2]!
    kernel.assign(backend.zeros(kernel.shape))
    expect(await bitsPerCharacter(model, train)).toBeCloseTo(Math.log2(sizes.vocabularySize), 5)
  })

  it('starts from the same values for the same seed and from others for another', async () => {
    const bits = await Promise.all([1, 1, 2].map(async (seed) => bitsPerCharacter((await setUp(seed)).model, train)))
    expect(bits[0]).toBe(bits[1])
    expect(bits[0]).not.toBe(bits[2])
  })
})
