import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import type { TableRow } from '../../src/data/table_row.js'
import { arrowDataset, type Dataset, finiteNumber, parquetDataset } from '../../src/index.js'

/** Written by pyarrow: fixtures/tables/make_tables.py. */
const table = (name: string) => fileURLToPath(new URL(`../../../../fixtures/tables/${name}`, import.meta.url))

const FILES: readonly [string, (path: string) => Dataset<TableRow>][] = [
  ['table_none.parquet', parquetDataset],
  ['table_snappy.parquet', parquetDataset],
  ['table_zstd.parquet', parquetDataset],
  ['table.arrow', arrowDataset],
  ['table.arrows', arrowDataset],
]

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'train-tables-'))
  try {
    await use(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

it.each(FILES)('%s: every row that pyarrow wrote', async (name, open) => {
  const rows = await collect(open(table(name)))
  expect(rows).toEqual(
    Array.from({ length: 10 }, (_, k) => ({
      price: k / 4,
      count: BigInt(k) ** 9n,
      text: k === 3 ? null : `row ${k} 🐋`,
    })),
  )
  expect(finiteNumber(rows[9], 'count', { path: name, row: 10 })).toBe(387420489)
})

it.each(FILES)('%s: continues after any row', async (name, open) => {
  const iterator = open(table(name)).iterate()
  for (let row = 0; row < 7; row++) await iterator.next()
  const rest = await collect(open(table(name)).iterate(iterator.position))
  await iterator.return()
  expect(rest.map(({ price }) => price)).toEqual([1.75, 2, 2.25])
})

it('parquetDataset reads the chosen columns only, and names one that is not there', async () => {
  const path = table('table_snappy.parquet')
  expect((await collect(parquetDataset(path, { columns: ['price'] })))[2]).toEqual({ price: 0.5 })
  await expect(collect(parquetDataset(path, { columns: ['cost'] }))).rejects.toThrow(
    coded('ERR_DATA_COLUMN', { column: 'cost' }),
  )
})

it.each(FILES)('%s: cut or not such a file, it is refused', async (name, open) => {
  await inFolder(async (folder) => {
    const path = join(folder, name)
    const bytes = await readFile(table(name))
    for (const wrong of [bytes.subarray(0, bytes.length >> 1), Buffer.from('price,count\n1,2\n')]) {
      await writeFile(path, wrong)
      await expect(collect(open(path))).rejects.toThrow(coded('ERR_DATA_SYNTAX', { path }))
    }
    await writeFile(path, '')
    await expect(collect(open(path))).rejects.toThrow(coded('ERR_DATA_EMPTY'))
    await rm(path)
    await expect(collect(open(path))).rejects.toThrow(coded('ERR_DATA_IO', { path }))
  })
})

it('finiteNumber refuses a null, naming row and column', () => {
  expect(() => finiteNumber({ text: null }, 'text', { path: 'table.parquet', row: 4 })).toThrow(
    coded('ERR_DATA_VALUE', { row: 4, column: 'text' }),
  )
})
