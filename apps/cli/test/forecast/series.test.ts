import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/coded.mjs'
import { readSeries } from '../../src/forecast/series.js'
import { temporaryDirectory } from '../small_run.js'

async function writeTable(header: string, rows: readonly string[]): Promise<string> {
  const path = join(await temporaryDirectory(), 'table.csv')
  await writeFile(path, `${[header, ...rows].join('\n')}\n`)
  return path
}

it.each([
  ['id', ['1,8', '2,5', '3,9']],
  ['', ['0,8', '1,5', '2,9']],
  ['date', ['2024-01-01,8', '2024-01-02,5', '2024-01-03,9']],
  ['shop', ['north,8', 'north,5', 'north,9']],
])('readSeries does not choose the column %j of row numbers, dates or texts', async (first, rows) => {
  const { columns, series } = await readSeries({ csv: await writeTable(`${first},sold`, rows) })
  expect([columns.value, ...series.map(({ values }) => values)]).toEqual(['sold', Float64Array.of(8, 5, 9)])
})

it.each([
  [
    ['0,5', '1,25'],
    [0.5, 1.25],
  ],
  [
    ['1.234,5', '2.000,25'],
    [1234.5, 2000.25],
  ],
  [
    ['1,234.5', '900.25'],
    [1234.5, 900.25],
  ],
])('readSeries chooses a column of numbers such as %o', async (texts, numbers) => {
  const csv = await writeTable(
    'shop;sold',
    texts.map((text) => `north;${text}`),
  )
  expect((await readSeries({ csv })).series.map(({ values }) => [...values])).toEqual([numbers])
})

it.each([
  ['two columns of numbers', 'sold,price', ['8,1', '5,3', '9,2']],
  ['numbers with a gap', 'id,sold', ['1,8', '2,5', '4,9']],
  ['row numbers alone', 'id', ['1', '2', '3']],
])('readSeries asks which column to forecast of %s', async (_, header, rows) => {
  const refused = coded('ERR_VALUE_COLUMN', {
    message: expect.stringContaining(`among ${header.replace(',', ', ')}. Name it by --value`),
  })
  await expect(readSeries({ csv: await writeTable(header, rows) })).rejects.toThrow(refused)
})
