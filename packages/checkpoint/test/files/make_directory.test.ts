import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeDirectory } from '../../src/files/index.js'
import { temporaryDirectory } from './temporary_directory.js'

describe('makeDirectory', () => {
  it('makes the directories above, also when called several times at once', async () => {
    const path = join(await temporaryDirectory(), 'a/b/c')
    await Promise.all([1, 2, 3].map(() => makeDirectory(path)))
    expect((await stat(path)).isDirectory()).toBe(true)
  })

  it('rejects for a file and a path below one', async () => {
    const file = join(await temporaryDirectory(), 'file')
    await writeFile(file, '')
    await expect(makeDirectory(file)).rejects.toMatchObject({ code: 'EEXIST' })
    const code = process.platform === 'win32' ? 'EEXIST' : 'ENOTDIR'
    await expect(makeDirectory(join(file, 'x'))).rejects.toMatchObject({ code })
  })

  it.runIf(process.platform === 'linux')('ends below /proc', async () => {
    await expect(makeDirectory('/proc/none/x')).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
