import { openBackend } from '@cudnn-rnn/rnn'
import { describe, expect, it } from 'vitest'
import { Adam } from '../src/adam.js'
import { CharLanguageModel, disposeState } from '../src/char_language_model.js'
import { bitsPerCharacter } from '../src/evaluation.js'
import { Lanes } from '../src/lanes.js'
import { createCorpus } from '../src/text_corpus.js'
import { coded, SMALL_SIZES, SMALL_TEXT } from './small_run.js'

const { train, vocabulary } = createCorpus('small', SMALL_TEXT)
const sizes = { ...SMALL_SIZES, vocabularySize: vocabulary.size }
const window = new Lanes(train, 6, 3).window(0)

async function setUp() {
  const backend = await openBackend('reference')
  const model = new CharLanguageModel(backend, sizes, 1)
  return { backend, model, adam: new Adam(backend, model.variables) }
}

describe('CharLanguageModel', () => {
  it('lowers the loss of a window by training on it', async () => {
    const { model, adam } = await setUp()
    const before = await model.trainStep(window, null, adam, 0.02, 1)
    const after = await model.evaluate(window, null)
    expect(before.gradientNorm).toBeGreaterThan(0)
    expect(after.loss).toBeLessThan(before.loss)
  })

  it('evaluates without learning: the same window gives the same loss again', async () => {
    const { model } = await setUp()
    expect((await model.evaluate(window, null)).loss).toBe((await model.evaluate(window, null)).loss)
  })

  it('says log₂ V bits when its output layer is zero: every character is as likely', async () => {
    const { backend, model } = await setUp()
    model.kernel.assign(backend.zeros(model.kernel.shape))
    expect(await bitsPerCharacter(model, train)).toBeCloseTo(Math.log2(sizes.vocabularySize), 5)
  })

  it('starts from the same values for the same seed and from others for another', async () => {
    const backend = await openBackend('reference')
    const losses = []
    for (const seed of [1, 1, 2])
      losses.push((await new CharLanguageModel(backend, sizes, seed).evaluate(window, null)).loss)
    expect(losses[0]).toBe(losses[1])
    expect(losses[0]).not.toBe(losses[2])
  })

  it('leaves nothing behind but the carried state, and nothing at all when that and the model are disposed', async () => {
    const { backend, model, adam } = await setUp()
    const { tensors } = backend.stats()
    const first = await model.trainStep(window, null, adam, 0.01, 1)
    const second = await model.trainStep(window, first.state, adam, 0.01, 2)
    const third = await model.evaluate(window, second.state)
    expect(backend.stats()).toMatchObject({ tensors: tensors + 2, tapes: 0 })
    disposeState(third.state)
    adam.dispose()
    model.dispose()
    expect(backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
  })

  it('leaves nothing behind when a step fails', async () => {
    const { backend, model, adam } = await setUp()
    const { tensors } = backend.stats()
    const outside = { ...window, labels: window.labels.slice().fill(sizes.vocabularySize) }
    await expect(model.trainStep(outside, null, adam, 0.01, 1)).rejects.toMatchObject(coded('ERR_ID_OUT_OF_RANGE'))
    await expect(model.evaluate(outside, null)).rejects.toMatchObject(coded('ERR_ID_OUT_OF_RANGE'))
    expect(backend.stats()).toMatchObject({ tensors, tapes: 0 })
  })
})
