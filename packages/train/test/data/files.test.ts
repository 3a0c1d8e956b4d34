import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasErrorCode } from '@cudnn-rnn/canonical/rules'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  classId,
  csvDataset,
  type Dataset,
  finiteNumber,
  jsonLinesDataset,
  type Position,
  textDataset,
} from '../../src/index.js'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'train-data-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function file(content: string | Uint8Array): Promise<string> {
  const path = join(folder, 'data')
  await writeFile(path, content)
  return path
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

const failing = (code: string, fields = {}) => expect.objectContaining({ name: 'DataError', code, ...fields })

it('csvDataset reads quoted fields by the names of the header', async () => {
  const path = await file('\ufeffdate,value\n"1 May, 1990",2.5\r\n2,-1e3\n')
  expect(await collect(csvDataset(path))).toEqual([
    { date: '1 May, 1990', value: '2.5' },
    { date: '2', value: '-1e3' },
  ])
})

it.each<[string, string | Uint8Array]>([
  ['CRLF', 'a,b\r\n1,é\r\n'],
  ['CR', 'a,b\r1,é\r'],
  ['UTF-16', Buffer.from('\ufeffa,b\n1,é\n', 'utf16le')],
])('csvDataset reads files of %s', async (_, content) => {
  expect(await collect(csvDataset(await file(content)))).toEqual([{ a: '1', b: 'é' }])
})

it.each<[string, string | Uint8Array]>([
  ['bytes that are not UTF-8', Buffer.from('a,b\n1,é\n', 'latin1')],
  ['UTF-16 without its mark', Buffer.from('a,b\n1,2\n', 'utf16le')],
])('readers of text refuse %s', async (_, content) => {
  const path = await file(content)
  for (const dataset of [csvDataset, textDataset, jsonLinesDataset] as ((path: string) => Dataset<unknown>)[]) {
    await expect(collect(dataset(path))).rejects.toThrow(failing('ERR_DATA_SYNTAX', { path, row: 1 }))
  }
})

it('csvDataset names the ragged row', async () => {
  const path = await file('a,b\n1,2\n3\n')
  await expect(collect(csvDataset(path))).rejects.toThrow(failing('ERR_DATA_RAGGED', { row: 3 }))
  const quotes = await file('a,b\n1,"2\n')
  await expect(collect(csvDataset(quotes))).rejects.toThrow(failing('ERR_DATA_SYNTAX'))
})

it('csvDataset refuses two columns of one name, and takes several without a name', async () => {
  const twice = failing('ERR_DATA_COLUMN', { row: 1, column: 'a' })
  await expect(collect(csvDataset(await file('a,b,a\n1,2,3\n')))).rejects.toThrow(twice)
  expect(await collect(csvDataset(await file('a,,\n1,2,3\n')))).toEqual([{ a: '1', '': '3' }])
  const lost = failing('ERR_DATA_COLUMN', { row: 1, column: '__proto__' })
  await expect(collect(csvDataset(await file('a,__proto__\n1,2\n')))).rejects.toThrow(lost)
})

it('an empty file is refused by every reader', async () => {
  const path = await file('')
  for (const dataset of [csvDataset(path), textDataset(path), jsonLinesDataset(path)]) {
    await expect(collect<unknown>(dataset)).rejects.toThrow(failing('ERR_DATA_EMPTY'))
  }
})

it.each(['', 'nan', 'Infinity', '1,5', '12 '.repeat(2)])('finiteNumber refuses %j, naming row and column', (text) => {
  const place = { path: 'prices.csv', row: 7 }
  expect(() => finiteNumber({ price: text }, 'price', place)).toThrow(
    failing('ERR_DATA_VALUE', { row: 7, column: 'price' }),
  )
  for (const column of ['price', 'constructor', '__proto__']) {
    expect(() => finiteNumber({ other: '1' }, column, place)).toThrow(failing('ERR_DATA_COLUMN', { column }))
  }
})

it.each(['3', '-1', '0.5', 'spam'])('classId refuses %j as one of three classes, naming row and column', (label) => {
  const place = { path: 'labels.csv', row: 4 }
  expect(() => classId({ label }, 'label', 3, place)).toThrow(
    failing('ERR_DATA_VALUE', { row: 4, column: 'label', path: 'labels.csv' }),
  )
  expect(classId({ label: '2' }, 'label', 3, place)).toBe(2)
})

it('jsonLinesDataset names the row that is not JSON', async () => {
  const path = await file('{"text":"a"}\n\n{"text":}\n')
  await expect(collect(jsonLinesDataset(path))).rejects.toThrow(failing('ERR_DATA_SYNTAX', { row: 3 }))
})

it('textDataset joins lines across pieces and refuses bytes that are not UTF-8', async () => {
  const long = 'ä'.repeat(70_000)
  expect(await collect(textDataset(await file(`${long}\nb\r\nc`)))).toEqual([long, 'b', 'c'])
  const broken = await file(Uint8Array.of(0x61, 0x0a, 0xff))
  const error = await collect(textDataset(broken)).catch((reason: unknown) => reason)
  expect(hasErrorCode(error, 'ERR_DATA_SYNTAX')).toBe(true)
})

it('textDataset refuses a line without end', async () => {
  const path = await file('a'.repeat(2 ** 26 + 1))
  await expect(collect(textDataset(path))).rejects.toThrow(failing('ERR_DATA_SYNTAX', { path, row: 1 }))
})

it('a file that changes while it is read is refused', async () => {
  const path = await file('a\n'.repeat(100_000))
  const iterator = textDataset(path).iterate()
  await iterator.next()
  await appendFile(path, 'more\n')
  await expect(collect(iterator)).rejects.toThrow(failing('ERR_DATA_CHANGED'))
})

it('textDataset resumes after any line, but not into a file of another size', async () => {
  const path = await file('a\nb\nc\n')
  const iterator = textDataset(path).repeat(2).iterate()
  for (let line = 0; line < 5; line++) await iterator.next()
  const position = JSON.parse(JSON.stringify(iterator.position)) as Position
  await iterator.return()
  expect(await collect(textDataset(path).repeat(2).iterate(position))).toEqual(['c'])
  await appendFile(path, 'd\n')
  await expect(collect(textDataset(path).repeat(2).iterate(position))).rejects.toThrow(failing('ERR_DATA_CHANGED'))
})
