import { existsSync } from 'node:fs'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { cacheFolder, dataPackageFolder } from '../src/data_package.js'
import { temporaryDirectory } from './small_run.js'

const PACKAGE = { name: '@test/data', version: '1.2.3', megabytes: 1 }

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

/** Puts our own program in npm's place. */
async function withNpm(script: string) {
  const directory = await temporaryDirectory()
  await writeFile(join(directory, 'npm'), `#!/bin/sh\n${script}\n`)
  await chmod(join(directory, 'npm'), 0o755)
  vi.stubEnv('PATH', `${directory}${delimiter}${process.env['PATH']}`)
  vi.stubEnv('CUDNN_RNN_CACHE', join(directory, 'cache'))
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  return directory
}

describe.skipIf(process.platform === 'win32')('dataPackageFolder', () => {
  it('has npm fetch a package once, without its scripts, and finds it from then on', async () => {
    const directory = await withNpm(
      `echo "$@" >> "$CUDNN_RNN_CACHE/../calls"; mkdir -p "$3/node_modules/@test/data"; touch "$3/package-lock.json"`,
    )
    const folder = await dataPackageFolder(PACKAGE)
    expect(folder).toBe(join(directory, 'cache', '_test_data-1.2.3', 'node_modules', '@test/data'))
    expect(await readFile(join(directory, 'calls'), 'utf8')).toMatch(
      /^install .* --ignore-scripts .*@test\/data@1\.2\.3\n$/,
    )
    await writeFile(join(directory, 'npm'), '#!/bin/sh\nexit 1\n')
    expect(await dataPackageFolder(PACKAGE)).toBe(folder)
  })

  it('passes the path of the cache to npm unchanged, with any characters', async () => {
    const directory = await withNpm(
      `printf '%s' "$3" > "$(dirname "$0")/prefix"; mkdir -p "$3/node_modules/@test/data"; touch "$3/package-lock.json"`,
    )
    const cache = join(directory, 'a & b; touch pwned $(touch pwned) "c"')
    vi.stubEnv('CUDNN_RNN_CACHE', cache)
    await dataPackageFolder(PACKAGE)
    expect(await readFile(join(directory, 'prefix'), 'utf8')).toBe(join(cache, '_test_data-1.2.3'))
    expect(existsSync('pwned')).toBe(false)
  })

  it('is in the cache of the user where CUDNN_RNN_CACHE is empty', async () => {
    const directory = await withNpm('mkdir -p "$3/node_modules/@test/data"; touch "$3/package-lock.json"')
    vi.stubEnv('CUDNN_RNN_CACHE', '')
    vi.stubEnv('XDG_CACHE_HOME', directory)
    expect(await dataPackageFolder(PACKAGE)).toContain(join(directory, 'cudnn-rnn', '_test_data'))
  })

  it('reports a failure of npm, and tries again the next time', async () => {
    const directory = await withNpm('echo no network; exit 1')
    await expect(dataPackageFolder(PACKAGE)).rejects.toThrow(coded('ERR_DATA_PACKAGE', { name: '@test/data' }))
    await expect(dataPackageFolder(PACKAGE)).rejects.toThrow('no network')
    vi.stubEnv('PATH', join(directory, 'nowhere'))
    await expect(dataPackageFolder(PACKAGE)).rejects.toThrow(coded('ERR_DATA_PACKAGE'))
  })
})

describe('cacheFolder', () => {
  it('refuses a user without a home, for whom no variable names a folder', () => {
    const home = () => {
      throw new Error('uv_os_homedir returned ENOENT')
    }
    vi.stubEnv('CUDNN_RNN_CACHE', '')
    vi.stubEnv('XDG_CACHE_HOME', '')
    expect(() => cacheFolder(home)).toThrow(coded('ERR_DATA_PACKAGE'))
    vi.stubEnv('XDG_CACHE_HOME', '/caches')
    expect(cacheFolder(home)).toBe(join('/caches', 'cudnn-rnn'))
  })
})
