import { access, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { removeFile, replaceFile } from '../../src/files/index.js'
import { temporaryDirectory } from './temporary_directory.js'

const held = (code: string) => Object.assign(new Error(`${code}: held`), { code })

/** A system that refuses the first renames. */
function refusing(platform: string, code: string, times: number) {
  const system = { platform, rename: vi.fn(rename) }
  for (let time = 0; time < times; time++) system.rename.mockRejectedValueOnce(held(code))
  return system
}

/** A file to rename, and its path. */
async function newFile(): Promise<readonly [string, string]> {
  const folder = await temporaryDirectory()
  await writeFile(join(folder, 'new'), 'new')
  await writeFile(join(folder, 'file'), 'old')
  return [join(folder, 'new'), join(folder, 'file')]
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe('replaceFile', () => {
  it.each(['EPERM', 'EACCES', 'EBUSY'])('tries again on Windows while the file is held: %s', async (code) => {
    const system = refusing('win32', code, 2)
    const [from, to] = await newFile()
    await replaceFile(from, to, system)
    expect(system.rename).toHaveBeenCalledTimes(3)
    expect(await readFile(to, 'utf8')).toBe('new')
  })

  it('throws the error of the system if the file is held for ten seconds', async () => {
    const system = refusing('win32', 'EBUSY', 20)
    let seconds = 0
    vi.spyOn(performance, 'now').mockImplementation(() => 1000 * seconds++)
    const [from, to] = await newFile()
    await expect(replaceFile(from, to, system)).rejects.toMatchObject({ code: 'EBUSY' })
    expect(system.rename).toHaveBeenCalledTimes(11)
    expect(await readFile(to, 'utf8')).toBe('old')
  })

  it.each([
    ['linux', 'EPERM'],
    ['win32', 'ENOENT'],
  ])('throws other errors at once: %s, %s', async (platform, code) => {
    const system = refusing(platform, code, 1)
    await expect(replaceFile(...(await newFile()), system)).rejects.toMatchObject({ code })
    expect(system.rename).toHaveBeenCalledTimes(1)
  })
})

describe('removeFile', () => {
  it('tries again on Windows while the file is held, and needs none', async () => {
    const system = { platform: 'win32', rm: vi.fn(rm).mockRejectedValueOnce(held('EBUSY')) }
    const [, path] = await newFile()
    await removeFile(path, system)
    expect(system.rm).toHaveBeenCalledTimes(2)
    await expect(access(path)).rejects.toMatchObject({ code: 'ENOENT' })
    await removeFile(path)
  })
})
