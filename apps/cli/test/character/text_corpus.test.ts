import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Vocabulary } from '@cudnn-rnn/rnn/train'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { createCorpus, readMobyDick, readTextFile } from '../../src/character/text_corpus.js'
import { temporaryDirectory } from '../small_run.js'

describe('createCorpus', () => {
  it('holds out the last tenth, and training never sees it', () => {
    const text = 'ab'.repeat(1350) + 'ba'.repeat(150)
    const { train, heldOut, vocabulary } = createCorpus('ab', text)
    expect([train.length, heldOut.length]).toEqual([2700, 300])
    expect(vocabulary.decode(train) + vocabulary.decode(heldOut)).toBe(text)
  })

  it('holds out 20,000 characters at most', () => {
    expect(createCorpus('long', 'abc'.repeat(100_000)).heldOut.length).toBe(20_000)
  })

  it('refuses a text too short to say anything', () => {
    expect(() => createCorpus('short', 'a'.repeat(1999))).toThrow(
      coded('ERR_TEXT_TOO_SHORT', { length: 1999, minimum: 2000 }),
    )
  })

  it('refuses characters outside the vocabulary of a resumed run', () => {
    expect(() => createCorpus('other', 'abc'.repeat(1000), Vocabulary.of('ab'))).toThrow(
      coded('ERR_UNKNOWN_SYMBOL', { symbol: 'c' }),
    )
  })
})

describe('readTextFile', () => {
  it('names the text for its file and reads line ends of Windows as line ends', async () => {
    const path = join(await temporaryDirectory(), 'log.txt')
    await writeFile(path, 'one\r\ntwo\n')
    expect(await readTextFile(path)).toEqual({ name: 'log.txt', text: 'one\ntwo\n' })
  })

  it('reads UTF-16 with its mark', async () => {
    const path = join(await temporaryDirectory(), 'windows.txt')
    await writeFile(path, '\ufeffone\r\ntwo', 'utf16le')
    expect(await readTextFile(path)).toEqual({ name: 'windows.txt', text: 'one\ntwo' })
  })

  it.each([
    ['missing', undefined],
    ['in Latin-1', Uint8Array.of(0x63, 0x61, 0x66, 0xe9)],
    ['in UTF-16 without its mark', Buffer.from('café', 'utf16le')],
  ])('refuses a file that is %s', async (_, bytes) => {
    const path = join(await temporaryDirectory(), 'text.txt')
    if (bytes !== undefined) await writeFile(path, bytes)
    await expect(readTextFile(path)).rejects.toThrow(coded('ERR_TEXT_FILE', { path }))
  })
})

describe('readMobyDick', () => {
  it('reads the book: more than a million characters, from the whaling to the rescue', async () => {
    const { text } = await readMobyDick()
    expect(text.length).toBeGreaterThan(1_000_000)
    expect(text).toContain('Call me Ishmael.')
    expect(text).toContain('only found another orphan')
  })
})
