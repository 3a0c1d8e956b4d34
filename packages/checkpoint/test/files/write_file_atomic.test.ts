import { spawnSync } from 'node:child_process'
import { lstat, mkdir, open, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { writeFileAtomic } from '../../src/files/index.js'
import { temporaryDirectory } from './temporary_directory.js'

const isUnix = process.platform !== 'win32'

describe('writeFileAtomic', () => {
  it('writes a new file and replaces one that exists', async () => {
    const path = join(await temporaryDirectory(), 'page.html')
    for (const text of ['one', 'two']) {
      await writeFileAtomic(path, text)
      expect(await readFile(path, 'utf8')).toBe(text)
    }
  })

  it.each([
    ['a file', (path: string) => writeFile(path, 'old')],
    ['a symbolic link', (path: string) => symlink('elsewhere', path)],
  ])('leaves %s with replace: false', async (_, plant) => {
    const folder = await temporaryDirectory()
    const path = join(folder, 'page.html')
    await plant(path)
    await expect(writeFileAtomic(path, 'new', { replace: false })).rejects.toMatchObject({
      code: 'ERR_FILE_EXISTS',
      path,
    })
    expect(await readdir(folder)).toEqual(['page.html'])
  })

  it.runIf(isUnix)('replaces a symbolic link and leaves its target as it is', async () => {
    const folder = await temporaryDirectory()
    const [path, target] = [join(folder, 'page.html'), join(folder, 'target')]
    await writeFile(target, 'precious')
    await symlink(target, path)
    await writeFileAtomic(path, 'new')
    expect([await readFile(target, 'utf8'), await readFile(path, 'utf8')]).toEqual(['precious', 'new'])
    expect((await lstat(path)).isSymbolicLink()).toBe(false)
  })

  it.runIf(process.platform === 'linux')('leaves a link to an open file, as /dev/stdout is one', async () => {
    const folder = await temporaryDirectory()
    const stream = await open(join(folder, 'stream'), 'w')
    const path = join(folder, 'stdout')
    await symlink(`/proc/self/fd/${stream.fd}`, path)
    for (const replace of [true, false]) {
      await expect(writeFileAtomic(path, 'new', { replace })).rejects.toMatchObject({ code: 'ERR_OUTPUT_FILE' })
    }
    expect((await lstat(path)).isSymbolicLink()).toBe(true)
    await stream.close()
  })

  it.each([
    ['below a file', (folder: string) => join(folder, 'file', 'page.html'), isUnix ? /ENOTDIR/ : /ENOENT|EEXIST/],
    ['in a directory that is not there', (folder: string) => join(folder, 'nowhere', 'page.html'), /ENOENT/],
    [
      'of too long a name',
      (folder: string) => join(folder, 'x'.repeat(300)),
      isUnix ? /ENAMETOOLONG/ : /ENOENT|EINVAL/,
    ],
    ['that is a directory', (folder: string) => join(folder, 'folder'), /not a regular file/],
    ['that is a device', () => '/dev/null', /not a regular file/],
  ])('rejects with a code for a path %s, and leaves nothing', async (_, pathIn, message) => {
    const folder = await temporaryDirectory()
    await writeFile(join(folder, 'file'), '')
    await mkdir(join(folder, 'folder'))
    const path = pathIn(folder)
    await expect(writeFileAtomic(path, 'new')).rejects.toMatchObject({
      code: 'ERR_OUTPUT_FILE',
      path,
      message: expect.stringMatching(message),
    })
    expect((await readdir(folder)).sort()).toEqual(['file', 'folder'])
  })

  it.runIf(isUnix)('refuses a FIFO, which would be replaced', async () => {
    const path = join(await temporaryDirectory(), 'fifo')
    spawnSync('mkfifo', [path])
    await expect(writeFileAtomic(path, 'new')).rejects.toMatchObject({ code: 'ERR_OUTPUT_FILE' })
    expect((await lstat(path)).isFIFO()).toBe(true)
  })
})
