import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeOutputDirectory } from '../src/output_directory.js'
import { temporaryDirectory } from './small_run.js'

it('makeOutputDirectory makes the directories above, and takes one that is there', async () => {
  const path = join(await temporaryDirectory(), 'a/b/c')
  await makeOutputDirectory(path)
  await makeOutputDirectory(path)
  expect(existsSync(path)).toBe(true)
})

it('makeOutputDirectory refuses a path below a file, with a code and the path', async () => {
  const file = join(await temporaryDirectory(), 'file')
  await writeFile(file, '')
  for (const path of [file, join(file, 'x')]) {
    await expect(makeOutputDirectory(path)).rejects.toMatchObject({ code: 'ERR_OUTPUT_DIRECTORY', path })
  }
})

it.runIf(process.platform === 'linux')('makeOutputDirectory ends below /proc', async () => {
  await expect(makeOutputDirectory('/proc/none/x')).rejects.toMatchObject({ code: 'ERR_OUTPUT_DIRECTORY' })
})
