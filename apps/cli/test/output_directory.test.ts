import { existsSync } from 'node:fs'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileAtomic } from '@cudnn-rnn/checkpoint/files'
import { expect, it } from 'vitest'
import { makeOutputDirectory, unusedDirectory } from '../src/output_directory.js'
import { temporaryDirectory } from './small_run.js'

it('makeOutputDirectory makes the directories above, and takes one that is there', async () => {
  const path = join(await temporaryDirectory(), 'a/b/c')
  await makeOutputDirectory(path)
  await makeOutputDirectory(path)
  expect(existsSync(path)).toBe(true)
})

it('unusedDirectory counts on from a directory that is there', async () => {
  const path = join(await temporaryDirectory(), 'classified')
  for (const expected of [path, `${path}-2`, `${path}-3`]) {
    expect(unusedDirectory(path)).toBe(expected)
    await makeOutputDirectory(expected)
  }
})

it('makeOutputDirectory refuses a path below a file, with a code and the path', async () => {
  const file = join(await temporaryDirectory(), 'file')
  await writeFile(file, '')
  for (const path of [file, join(file, 'x')]) {
    await expect(makeOutputDirectory(path)).rejects.toMatchObject({ code: 'ERR_OUTPUT_DIRECTORY', path })
  }
})

it.runIf(process.platform !== 'win32')(
  'makeOutputDirectory and the writes into it follow a link to a directory, and refuse one to nothing',
  async () => {
    const directory = await temporaryDirectory()
    const [target, link, dangling] = ['target', 'link', 'dangling'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ]
    await mkdir(target)
    await symlink(target, link)
    await makeOutputDirectory(join(link, 'run'))
    await writeFileAtomic(join(link, 'run/report.html'), 'page', { replace: true })
    expect(await readFile(join(target, 'run/report.html'), 'utf8')).toBe('page')
    await symlink(join(directory, 'none'), dangling)
    await expect(makeOutputDirectory(dangling)).rejects.toMatchObject({ code: 'ERR_OUTPUT_DIRECTORY', path: dangling })
  },
)

it.runIf(process.platform === 'linux')('makeOutputDirectory ends below /proc', async () => {
  await expect(makeOutputDirectory('/proc/none/x')).rejects.toMatchObject({ code: 'ERR_OUTPUT_DIRECTORY' })
})
