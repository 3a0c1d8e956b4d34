import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { csvDataset } from '@cudnn-rnn/rnn/train'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { delimiterOf } from '../src/csv_delimiter.js'
import { csvField } from '../src/csv_field.js'
import { temporaryDirectory } from './small_run.js'

async function file(text: string): Promise<string> {
  const path = join(await temporaryDirectory(), 'table.csv')
  await writeFile(path, text)
  return path
}

describe('csvField', () => {
  it('is read back as it was, with quotes, delimiters and line ends', async () => {
    const texts = ['plain', 'a,b', 'say "no"', 'two\nlines', '"', ' edges ']
    const path = await file(`text,end\n${texts.map((text) => `${csvField(text)},x\n`).join('')}`)
    const read: string[] = []
    for await (const { text } of csvDataset(path)) read.push(text!)
    expect(read).toEqual(texts)
  })
})

describe('delimiterOf', () => {
  it.each([
    ['date,value\n1;2;3;4', ','],
    ['date;value,note;x\n', ';'],
    ['date\tvalue', '\t'],
    ['a|b|c\r\n', '|'],
    ['value\n1,5\n', ','],
    ['date,"net; in thousands; after tax"\n', ','],
    ['date;value\r2020-01-01;1,5\r2020-01-02;2,5\r', ';'],
  ])('of %j', async (text, delimiter) => {
    expect(await delimiterOf(await file(text))).toBe(delimiter)
  })

  it('refuses an empty file and one that is missing', async () => {
    const path = await file('')
    await expect(delimiterOf(path)).rejects.toThrow(coded('ERR_DATA_EMPTY', { path }))
    await expect(delimiterOf(`${path}.none`)).rejects.toThrow(coded('ERR_DATA_IO'))
  })
})
