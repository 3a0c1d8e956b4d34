import { existsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { withTemporaryFolder } from '../src/temporary_folder.js'

const prefix = join(tmpdir(), 'temporary-folder-test-')

it('withTemporaryFolder removes the folder with its files, and gives the result', async () => {
  const folder = await withTemporaryFolder(prefix, async (path) => {
    writeFileSync(join(path, 'file'), 'text')
    return path
  })
  expect(folder.startsWith(prefix)).toBe(true)
  expect(existsSync(folder)).toBe(false)
})

it('withTemporaryFolder removes the folder of a failure too', async () => {
  let folder = ''
  const failing = withTemporaryFolder(prefix, async (path) => {
    folder = path
    throw new Error('no result')
  })
  await expect(failing).rejects.toThrow('no result')
  expect(existsSync(folder)).toBe(false)
})
