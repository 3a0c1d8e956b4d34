import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { replaceFile } from '../src/index.js'
import { temporaryDirectory } from './temporary_directory.js'

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>()
  return { ...real, rename: vi.fn(real.rename) }
})
const held = (code: string) => Object.assign(new Error(`${code}: held`), { code })
const onPlatform = (platform: string) =>
  vi.spyOn(process, 'platform', 'get').mockReturnValue(platform as NodeJS.Platform)

/** A file to rename, and its path. */
async function newFile(): Promise<readonly [string, string]> {
  const folder = await temporaryDirectory()
  await writeFile(join(folder, 'new'), 'new')
  await writeFile(join(folder, 'file'), 'old')
  return [join(folder, 'new'), join(folder, 'file')]
}

afterEach(() => {
  vi.restoreAllMocks()
  vi.mocked(rename).mockClear()
})

describe('replaceFile', () => {
  it.each(['EPERM', 'EACCES', 'EBUSY'])('tries again on Windows while the file is held: %s', async (code) => {
    onPlatform('win32')
    vi.mocked(rename).mockRejectedValueOnce(held(code)).mockRejectedValueOnce(held(code))
    const [from, to] = await newFile()
    await replaceFile(from, to)
    expect(rename).toHaveBeenCalledTimes(3)
    expect(await readFile(to, 'utf8')).toBe('new')
  })

  it('throws the error of the system if the file is held for ten seconds', async () => {
    onPlatform('win32')
    const [from, to] = await newFile()
    vi.mocked(rename).mockRejectedValue(held('EBUSY'))
    let seconds = 0
    vi.spyOn(performance, 'now').mockImplementation(() => 1000 * seconds++)
    await expect(replaceFile(from, to)).rejects.toMatchObject({ code: 'EBUSY' })
    expect(rename).toHaveBeenCalledTimes(11)
    expect(await readFile(to, 'utf8')).toBe('old')
  })

  it.each([
    ['linux', 'EPERM'],
    ['win32', 'ENOENT'],
  ])('throws other errors at once: %s, %s', async (platform, code) => {
    onPlatform(platform)
    vi.mocked(rename).mockReset().mockRejectedValueOnce(held(code))
    await expect(replaceFile(...(await newFile()))).rejects.toMatchObject({ code })
    expect(rename).toHaveBeenCalledTimes(1)
  })
})
