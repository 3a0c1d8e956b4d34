import { openBackend } from '@cudnn-rnn/rnn'
import { expect, it } from 'vitest'
import { LINE_HEIGHT, LineDrawing, pngOf } from '../src/handwriting/generator/line_drawing.js'
import { registerFonts, TRAINING_FONTS, UNSEEN_FONT } from '../src/handwriting/generator/line_fonts.js'
import { labelsOf, textOf, wordsOf } from '../src/handwriting/generator/line_texts.js'
import { batchOf, FRAME_SIZE, randomLines } from '../src/handwriting/line_batch.js'
import { lineReader, readTexts } from '../src/handwriting/line_reader.js'

const { training: words } = wordsOf('Call me “Ishmael”. Some years ago—never mind how long 1851 precisely—having')
const lines = (seed: number) => {
  registerFonts([...TRAINING_FONTS, UNSEEN_FONT])
  const options = { words, fonts: TRAINING_FONTS, count: 3, width: { from: 60, to: 90, shared: true } }
  return randomLines(new LineDrawing(), { ...options, seed })
}

it('words of a book are spelled in the alphabet, or left out', () => {
  expect(words.slice(0, 4)).toEqual(['Call', 'me', '"Ishmael".', 'Some'])
  expect(words).not.toContain('1851')
  expect(textOf(labelsOf('ago-never mind'))).toBe('ago-never mind')
})

it('randomLines draws the same lines for a seed, with ink on paper', () => {
  const [first, again, other] = [lines(1), lines(1), lines(2)]
  expect(again).toEqual(first)
  expect(other).not.toEqual(first)
  for (const { image, text } of first) {
    expect(image.data.length).toBe(image.width * LINE_HEIGHT)
    expect(Math.max(...image.data)).toBeGreaterThan(0.5)
    expect(text.length).toBeGreaterThan(0)
    expect(pngOf(image)).toMatch(/^data:image\/png;base64,/)
  }
})

it('lineReader learns from a batch and leaves no tensors behind', async () => {
  using backend = await openBackend('reference')
  const reader = lineReader(backend, { numUnits: 4, numLayers: 1, seed: 1 })
  const batch = batchOf(lines(3))
  expect(batch.input.shape).toEqual([Math.max(...batch.sequenceLengths!), 3, FRAME_SIZE])
  const { tensors } = backend.stats()
  const before = await reader.evaluate([batch], { loss: 'ctc' })
  await reader.fit([batch], { loss: 'ctc', epochs: 6, learningRate: 0.01 })
  expect((await reader.evaluate([batch])).loss).toBeLessThan(before.loss)
  expect(await readTexts(reader, batch)).toHaveLength(3)
  expect(backend.stats().tensors).toBe(tensors)
})
