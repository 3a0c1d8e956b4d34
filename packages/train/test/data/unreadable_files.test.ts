import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasErrorCode } from '@cudnn-rnn/canonical/rules'
import { afterAll, describe, expect, it } from 'vitest'
import { arrowDataset, csvDataset, jsonLinesDataset, parquetDataset, textDataset } from '../../src/index.js'

const folder = mkdtempSync(join(tmpdir(), 'unreadable-'))
afterAll(() => rmSync(folder, { recursive: true }))

const pipe = join(folder, 'pipe')
const DEVICES = process.platform === 'linux' ? ['/dev/zero', pipe] : []
if (DEVICES.length > 0) execFileSync('mkfifo', [pipe])
const TOO_LONG = process.platform === 'win32' ? 'ENOENT' : 'ENAMETOOLONG'

const DATASETS = { arrowDataset, csvDataset, jsonLinesDataset, parquetDataset, textDataset }

describe.each(Object.entries(DATASETS))('%s', (_, dataset) => {
  it.each([
    ['a file that is not there', join(folder, 'nope'), 'ENOENT'],
    ['a folder', folder, 'directory'],
    ...DEVICES.map((path) => ['files that may never end or begin', path, 'not a regular file']),
    ['a path that is longer than the system allows', join(folder, 'x'.repeat(300)), TOO_LONG],
  ])('refuses %s with a code, its path and the system error', async (__, path, reason) => {
    const rows: AsyncIterable<unknown> = dataset(path)
    const read = async () => {
      for await (const row of rows) expect(row).toBeUndefined()
    }
    const describe = async () => dataset(path).describe()
    for (const work of [read, describe]) {
      const error: unknown = await work().catch((cause: unknown) => cause)
      expect(hasErrorCode(error, 'ERR_DATA_IO')).toBe(true)
      expect(error).toMatchObject({ path, message: expect.stringContaining(reason) })
    }
  })
})
