import { Adam, Dataset, openBackend } from '@cudnn-rnn/rnn'
import { type TokenWindow, truncatedWindows } from '@cudnn-rnn/rnn/train'
import { describe, expect, it } from 'vitest'
import { CharLanguageModel } from '../../src/character/char_language_model.js'
import { bitsPerCharacter } from '../../src/character/evaluation.js'
import { createCorpus } from '../../src/character/text_corpus.js'
import { coded, SMALL_SIZES, SMALL_TEXT } from '../small_run.js'

const { train, vocabulary } = createCorpus('small', SMALL_TEXT)
const sizes = { ...SMALL_SIZES, vocabularySize: vocabulary.size }
const windows = new Dataset(truncatedWindows(train, { time: 6, batch: 3 })).iterate()
const window = (await windows.next()).value as TokenWindow
const second = (await windows.next()).value as TokenWindow

async function setUp(seed = 1) {
  const backend = await openBackend('reference')
  const model = new CharLanguageModel(backend, sizes, seed)
  return { backend, model, state: model.carriedState(3) }
}

describe('CharLanguageModel', () => {
  it('lowers the loss of a window by training on it', async () => {
    const { backend, model, state } = await setUp()
    const adam = new Adam(backend, model.variables)
    const { loss, gradients } = await model.batchGradients(window, state)
    adam.apply(gradients, 0.02)
    expect(await model.evaluate(window, state)).toBeLessThan((await loss.read()).data[0]!)
  })

  it('evaluates without learning, and reads a window after the one before unlike a first one', async () => {
    const { model, state } = await setUp()
    const first = await model.evaluate(window, state)
    const carried = await model.evaluate(second, state)
    expect(await model.evaluate(window, state)).toBe(first)
    expect(await model.evaluate({ ...second, restarts: true }, state)).not.toBe(carried)
  })

  it('says log₂ V bits when its output layer is zero: every character is as likely', async () => {
    const { backend, model } = await setUp()
    model.output.kernel.assign(backend.zeros(model.output.kernel.shape))
    expect(await bitsPerCharacter(model, train)).toBeCloseTo(Math.log2(sizes.vocabularySize), 5)
  })

  it('starts from the same values for the same seed and from others for another', async () => {
    const losses = []
    for (const seed of [1, 1, 2]) {
      const { model, state } = await setUp(seed)
      losses.push(await model.evaluate(window, state))
    }
    expect(losses[0]).toBe(losses[1])
    expect(losses[0]).not.toBe(losses[2])
  })

  it('leaves nothing behind but its loss and its gradients, also when a step fails', async () => {
    const { backend, model, state } = await setUp()
    const { tensors } = backend.stats()
    const { loss, gradients } = await model.batchGradients(window, state)
    await model.evaluate(window, state)
    for (const tensor of [loss, ...gradients]) tensor.dispose()
    expect(backend.stats()).toMatchObject({ tensors, tapes: 0 })
    const labels = { ...window.labels, data: window.labels.data.map(() => sizes.vocabularySize) }
    await expect(model.batchGradients({ ...window, labels }, state)).rejects.toMatchObject(coded('ERR_ID_OUT_OF_RANGE'))
    await expect(model.evaluate({ ...window, labels }, state)).rejects.toMatchObject(coded('ERR_ID_OUT_OF_RANGE'))
    expect(backend.stats()).toMatchObject({ tensors, tapes: 0 })
  })
})
