import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
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

it.each([
  ['date', ['Dec-23', 'Nov-23', 'Oct-23']],
  ['when', ['2024-W07', '2024-W06', '2024-W05']],
  ['period', ['3', '2', '1']],
  ['id', ['3', '2', '1']],
])('readSeries refuses rows whose order column %j leaves open', async (column, texts) => {
  const rows = texts.map((text, n) => `${text},${n + 0.5}`)
  const csv = await writeTable(`${column},sold`, rows)
  const message = expect.stringContaining(`column ${column} holds texts such as "${texts[0]}"`)
  await expect(readSeries({ csv, value: 'sold' })).rejects.toThrow(coded('ERR_DATA_VALUE', { message }))
})

it('readSeries takes periods that rise in each series for rows in order', async () => {
  const csv = await writeTable('shop,week,sold', ['a,1,8', 'a,2,5', 'b,1,9', 'b,2,7'])
  const { series } = await readSeries({ csv, series: 'shop', value: 'sold' })
  expect(series.map(({ values }) => [...values])).toEqual([
    [8, 5],
    [9, 7],
  ])
})

it('readSeries finds by the steps that years of two digits come first', async () => {
  const days = Array.from({ length: 60 }, (_, n) => new Date(Date.UTC(2023, 0, 1 + n)).toISOString().slice(2, 10))
  const [{ axis }] = (
    await readSeries({
      csv: await writeTable(
        'date,sold',
        days.map((day, n) => `${day},${n + 0.5}`),
      ),
    })
  ).series
  expect([axis?.length, axis?.text(60)]).toEqual([60, '23-03-02'])
})

it('readSeries refuses dates that are an axis of large gaps alone, in one of their forms', async () => {
  // The 1st and the 15th: no axis, or, with their years last, one of 161 gaps.
  const dates = [1, 2, 3, 4, 5, 6, 7].flatMap((month) => ['01', '15'].map((day) => `20-0${month}-${day}`))
  const csv = await writeTable(
    'date,sold',
    dates.map((date, n) => `${date},${n + 0.5}`),
  )
  const message = expect.stringContaining('which number of a date is the day')
  await expect(readSeries({ csv })).rejects.toThrow(coded('ERR_DATA_VALUE', { message }))
})

it.each([
  ['2024-01-01,8', ['2024-01-02,5', '2024-01-03,9']],
  ['8', ['5', '9']],
])('readSeries refuses a file that begins with %j, without a header', async (first, rows) => {
  const reading = readSeries({ csv: await writeTable(first, rows) })
  await expect(reading).rejects.toThrow(coded('ERR_DATA_COLUMN', { message: expect.stringContaining('header') }))
})

it('readSeries takes a year for the name of a column of values', async () => {
  const { columns } = await readSeries({ csv: await writeTable('date,2023', ['2024-01-01,8', '2024-01-02,5']) })
  expect(columns.value).toBe('2023')
})
