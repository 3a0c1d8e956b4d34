import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { describeFile } from '../../src/data/file_fingerprint.js'
import { csvDataset, jsonLinesDataset, parquetDataset, textDataset } from '../../src/index.js'

const folder = mkdtempSync(join(tmpdir(), 'file-fingerprint-'))
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
/** The path of a new file. */
function written(bytes: Uint8Array | string): string {
  const path = join(folder, `file-${files++}`)
  writeFileSync(path, bytes)
  return path
}

const bytesOf = (length: number) => Uint8Array.from({ length }, (_, k) => (k * 31) % 251)

describe('describeFile', () => {
  it('is the same for equal files at different paths', () => {
    const [one, other] = [written(bytesOf(100)), written(bytesOf(100))]
    expect(describeFile(one)).toBe(describeFile(other))
    expect(describeFile(one)).toMatch(/^file of 100 bytes [\da-f]{8}$/)
    expect(describeFile(written(''))).toMatch(/^file of 0 bytes [\da-f]{8}$/)
  })

  it.each([
    ['1 byte', 1, [0]],
    ['100 bytes', 100, [0, 50, 99]],
    ['5000 bytes', 5000, [0, 4095, 4096, 4999]],
    ['64 KiB', 65_536, [0, 4095, 4096, 30_000, 65_535]],
    ['more than 64 KiB', 65_537, [0, 4095, 65_536]],
    ['1 MB', 1_000_000, [0, 4095, 995_904, 999_999]],
  ])('differs by each byte that it reads of a file of %s', (_, length, places) => {
    const bytes = bytesOf(length)
    const plain = describeFile(written(bytes))
    for (const place of places) {
      expect(describeFile(written(bytes.with(place, bytes[place] ^ 1))), `byte ${place}`).not.toBe(plain)
    }
  })

  it('differs by the size, and reads 64 KiB of a file of 8 GiB', () => {
    const path = written('a')
    truncateSync(path, 2 ** 33)
    const long = describeFile(path)
    expect(long).toMatch(/^file of 8589934592 bytes [\da-f]{8}$/)
    truncateSync(path, 2 ** 33 - 1)
    expect(describeFile(path)).not.toBe(long)
  })
})

describe('describe of file data sets', () => {
  it('names the elements and the file', () => {
    const path = written('a;b\n1;2\n')
    const file = describeFile(path)
    expect(textDataset(path).describe()).toBe(`lines of a ${file}`)
    expect(jsonLinesDataset(path).batch(2).describe()).toBe(`JSON lines of a ${file}, batches of 2`)
    expect(csvDataset(path).describe()).toBe(`CSV rows, delimiter ",", of a ${file}`)
    expect(csvDataset(path, { delimiter: ';' }).describe()).toBe(`CSV rows, delimiter ";", of a ${file}`)
    expect(parquetDataset(path).describe()).toBe(`Parquet rows of a ${file}`)
    expect(parquetDataset(path, { columns: ['a', 'b'] }).describe()).toBe(
      `Parquet rows, columns ["a","b"], of a ${file}`,
    )
  })
})
