import { openBackend } from '@cudnn-rnn/rnn'
import { Vocabulary } from '@cudnn-rnn/rnn/train'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { charLanguageModel } from '../../src/character/char_language_model.js'
import { promptIn, type SamplingOptions, sample } from '../../src/character/sampler.js'
import { SMALL_SIZES, SMALL_TEXT } from '../small_run.js'

const vocabulary = Vocabulary.of(SMALL_TEXT)
const sizes = { ...SMALL_SIZES, vocabularySize: vocabulary.size }
const model = charLanguageModel(await openBackend('reference'), sizes, 3)

async function write(options: Partial<SamplingOptions>): Promise<string> {
  const complete = { length: 60, temperature: 1, seed: 1, prompt: 'call', ...options }
  return collect(sample(model, vocabulary, complete))
}

async function collect(characters: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const character of characters) text += character
  return text
}

describe('sample', () => {
  it('writes the same text for the same seed and another for another', async () => {
    const text = await write({ seed: 7 })
    expect(text).toHaveLength(60)
    expect(await write({ seed: 7 })).toBe(text)
    expect(await write({ seed: 8 })).not.toBe(text)
  })

  it('takes the likeliest character at temperature 0, for any seed', async () => {
    expect(await write({ seed: 1, temperature: 0 })).toBe(await write({ seed: 2, temperature: 0 }))
  })

  it('begins with a character that the model knows, where the usual prompt has others: DNA has a T and no h', () => {
    expect(promptIn(Vocabulary.of('ACGT'), 'The ')).toBe('A')
    expect(promptIn(Vocabulary.of('no line ends'), '\n')).toBe(' ')
    expect(promptIn(Vocabulary.of('The end'), 'The ')).toBe('The ')
  })

  it('reads the prompt before it writes', async () => {
    expect(await write({ prompt: 'call', temperature: 0.3 })).not.toBe(
      await write({ prompt: 'sea,', temperature: 0.3 }),
    )
  })

  it('draws in proportion to the probabilities', async () => {
    const backend = await openBackend('reference')
    const unfair = charLanguageModel(backend, { ...sizes, vocabularySize: 2 }, 1)
    const [, , kernel, bias] = unfair.variables
    kernel!.assign(backend.zeros(kernel!.shape))
    bias!.assign({ data: Float32Array.of(Math.log(3), 0), shape: [2] }) // three to one
    const options = { length: 4000, temperature: 1, seed: 1, prompt: 'a' }
    const text = await collect(sample(unfair, new Vocabulary(['a', 'b']), options))
    // 3000 ± 4 standard deviations of √(4000 · ¾ · ¼)
    expect(Math.abs(text.replaceAll('b', '').length - 3000)).toBeLessThan(4 * Math.sqrt(750))
  })

  it('refuses a prompt of unknown characters and opens nothing for it', async () => {
    await expect(write({ prompt: 'callZ' })).rejects.toThrow(coded('ERR_UNKNOWN_SYMBOL', { symbol: 'Z' }))
    expect(model.executor.stats().steppers).toBe(0)
  })

  it('closes its stream when the reader stops early', async () => {
    for await (const _ of sample(model, vocabulary, { length: 10, temperature: 1, seed: 1, prompt: 'c' })) break
    expect(model.executor.stats()).toMatchObject({ tensors: model.variables.length, steppers: 0 })
  })
})
