import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { createOwnerToken, ownerState, parseOwnerToken } from '../../src/store/process_identity.js'
import { createFile, temporaryPath, writeAll } from '../../src/store/temporary_file.js'

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'temporary-'))
})
afterEach(() => rm(directory, { recursive: true }))

// Windows lets only administrators make symbolic links.
it.skipIf(process.platform === 'win32')(
  'createFile refuses a planted symbolic link, and leaves its target alone',
  async () => {
    const target = join(directory, 'target')
    const path = temporaryPath(join(directory, 'model.data'))
    await writeFile(target, 'untouched')
    await symlink(target, path)
    await expect(createFile(path, (file) => writeAll(file, new Uint8Array(4)))).rejects.toThrow(coded('EEXIST'))
    expect(await readFile(target, 'utf8')).toBe('untouched')
  },
)

it('temporaryPath gives unpredictable names', () => {
  const names = new Set(Array.from({ length: 100 }, () => basename(temporaryPath(join(directory, 'checkpoint')))))
  expect(names.size).toBe(100)
  for (const name of names) expect(name).toMatch(/^checkpoint\.[0-9a-f]{8}-\d+-\d+-\d+-[0-9a-f]{32}\.tmp$/)
})

it('ownerState finds the thread that made a token', () => {
  const token = createOwnerToken()
  expect(ownerState(parseOwnerToken(token)!)).toBe('running')
  expect(ownerState(parseOwnerToken(token.replace(/^......../, '00000000'))!)).toBe('unknown')
  for (const text of ['', 'a-b-c', `${token}0`, token.slice(1)]) expect(parseOwnerToken(text)).toBeUndefined()
})
