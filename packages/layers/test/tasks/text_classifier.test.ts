import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it, onTestFinished } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { createTextClassifier, loadForecaster, loadTextClassifier, trainForecaster } from '../../src/tasks/index.js'
import { wordsOf } from '../../src/tasks/words.js'

const texts = Array.from({ length: 40 }, (_, n) => ({
  text: n % 2 === 0 ? `buy now for ${n} $` : `see you at ${n}`,
  label: n % 2 === 0 ? 'spam' : 'ham',
}))

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tasks-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

it('wordsOf keeps words of any script, apostrophes, marks, and how long a number is', () => {
  const words = ["don't", 'pay', '<4 digits>', '$', '!', 'größe', '<2 digits>', 'кит']
  expect(wordsOf("Don't pay 1000$! Größe=38 кит")).toEqual(words)
})

describe('TextClassifier', () => {
  it('learns, and classifies the same after it was saved and loaded', async () => {
    using backend = openReferenceBackend()
    using trained = createTextClassifier(backend, texts, { numUnits: 4, embeddingSize: 4, seed: 3 })
    const options = { loss: 'softmax_cross_entropy', batchSize: 8, epochs: 6, learningRate: 0.03 } as const
    await trained.model.fit(trained.examples(texts), options)
    const path = join(await folder(), 'mail')
    await trained.save(path)

    using loaded = await loadTextClassifier(backend, path)
    expect(loaded.labels).toEqual(['ham', 'spam'])
    const asked = ['buy now', 'see you at five', '']
    const results = await loaded.classify(asked)
    expect(results).toEqual(await trained.classify(asked))
    expect(results.slice(0, 2).map(({ label }) => label)).toEqual(['spam', 'ham'])
    for (const { probability, probabilities, label } of results) {
      expect(probabilities[label]).toBe(probability)
      expect(probabilities['ham'] + probabilities['spam']).toBeCloseTo(1, 6)
    }
    expect(await loaded.classify([])).toEqual([])
  })

  it('has the most frequent words, reads at most so many words, and at least one', () => {
    using backend = openReferenceBackend()
    const short = createTextClassifier(backend, texts, { vocabularySize: 4, maxLength: 2 })
    expect(short.encoding.words.symbols).toEqual(['<unknown>', '<2 digits>', '$', 'at'])
    expect(short.encode('see you at five')).toHaveLength(2)
    expect([...short.encode('***')]).toEqual([0])
    short.dispose()
  })

  it('refuses texts of one class, other kinds of arguments, and paths that hold something else', async () => {
    using backend = openReferenceBackend()
    expect(() => createTextClassifier(backend, texts.slice(0, 1))).toThrow(coded('ERR_CLASSES'))
    expect(() => createTextClassifier(backend, ['a'] as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
    expect(() => createTextClassifier(backend, texts, { cell: 'rnn' as never })).toThrow(coded('ERR_INVALID_OPTION'))
    const path = await folder()
    await expect(loadTextClassifier(backend, path)).rejects.toMatchObject({ code: 'ERR_NOT_A_CLASSIFIER' })
    const values = Array.from({ length: 40 }, (_, n) => n)
    using forecaster = await trainForecaster(backend, [{ values }], { window: 4, horizon: 2, heldOut: 6, maxSteps: 2 })
    await forecaster.save(join(path, 'forecaster/model'))
    await expect(loadTextClassifier(backend, path)).rejects.toThrow(/it holds a forecaster/)
    await expect(loadTextClassifier(backend, join(path, 'forecaster/model'))).rejects.toMatchObject({
      code: 'ERR_NOT_A_CLASSIFIER',
    })
    await expect(loadForecaster(backend, join(path, 'none'))).rejects.toMatchObject({ code: 'ERR_NOT_A_FORECASTER' })
    const { bytes } = backend.stats()
    expect(bytes).toBeGreaterThan(0)
  })
})
