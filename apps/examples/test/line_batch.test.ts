import { Philox } from '@cudnn-rnn/rnn/executors'
import { describe, expect, it } from 'vitest'
import { LINE_HEIGHT } from '../src/handwriting/generator/line_drawing.js'
import { ALPHABET, labelsOf, randomText, textOf, wordsOf } from '../src/handwriting/generator/line_texts.js'
import { batchOf, FRAME_SIZE, type Line } from '../src/handwriting/line_batch.js'

/** A line whose column x has the ink x + 1 in every row. */
function line(text: string, width: number): Line {
  const data = Float32Array.from({ length: LINE_HEIGHT * width }, (_, at) => (at % width) + 1)
  return { text, font: 'any', image: { width, data } }
}

describe('batchOf', () => {
  /** The ink of the nine columns of a frame, each of which is the same in every row. */
  function frame(lines: readonly Line[], t: number, row: number): number[] {
    const { input } = batchOf(lines)
    const { data, shape } = input as { readonly data: Float32Array; readonly shape: readonly number[] }
    const begin = (t * shape[1]! + row) * FRAME_SIZE
    const columns = data.subarray(begin, begin + FRAME_SIZE)
    return Array.from({ length: 9 }, (_, column) => {
      const ink = columns.subarray(column * LINE_HEIGHT, (column + 1) * LINE_HEIGHT)
      expect(new Set(ink).size).toBe(1)
      return ink[0]!
    })
  }

  it('has a frame of nine columns every three, with paper around the image', () => {
    const lines = [line('a', 8)]
    expect(frame(lines, 0, 0)).toEqual([0, 0, 0, 1, 2, 3, 4, 5, 6])
    expect(frame(lines, 1, 0)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 0])
    expect(frame(lines, 2, 0)).toEqual([4, 5, 6, 7, 8, 0, 0, 0, 0])
  })

  it('joins lines of unequal width, with zeros after the end of the shorter', () => {
    const lines = [line('ab', 4), line('c', 9)]
    const { input, sequenceLengths, labels } = batchOf(lines)
    expect((input as { readonly shape: readonly number[] }).shape).toEqual([3, 2, FRAME_SIZE])
    expect(sequenceLengths).toEqual([2, 3])
    expect(labels).toEqual([labelsOf('ab'), labelsOf('c')])
    expect(frame(lines, 1, 0)).toEqual([1, 2, 3, 4, 0, 0, 0, 0, 0])
    expect(frame(lines, 2, 0)).toEqual(new Array(9).fill(0))
    expect(frame(lines, 2, 1)).toEqual([4, 5, 6, 7, 8, 9, 0, 0, 0])
  })
})

describe('labelsOf and textOf', () => {
  it('are inverses on every character of the alphabet', () => {
    const text = ALPHABET.join('')
    expect(labelsOf(text)).toEqual(Array.from({ length: ALPHABET.length }, (_, k) => k))
    expect(textOf(labelsOf(text))).toBe(text)
    expect(new Set(ALPHABET).size).toBe(ALPHABET.length)
  })
})

describe('wordsOf', () => {
  it('writes quotes and dashes of print as those of the alphabet, and holds out the last tenth', () => {
    const book = `${'a '.repeat(8)} “don’t”—no\nend.`
    expect(wordsOf(book)).toEqual({ training: [...'aaaaaaaa', '"don\'t"-no'], heldOut: ['end.'] })
  })

  it('leaves out words with other characters', () => {
    expect(wordsOf('naïve 1851 whale').heldOut.concat(wordsOf('naïve 1851 whale').training)).toEqual(['whale'])
  })
})

describe('randomText', () => {
  const words = ['one', 'two', 'three']

  it('has successive words that fit, over the end of the book', () => {
    const texts = new Set<string>()
    for (let seed = 0; seed < 20; seed++) texts.add(randomText(words, (text) => text.length <= 9, new Philox(seed)))
    expect([...texts].sort()).toEqual(['one two', 'three one', 'two three'])
  })

  it('has one word where not even that fits', () => {
    expect(words).toContain(randomText(words, () => false, new Philox(1)))
  })
})
