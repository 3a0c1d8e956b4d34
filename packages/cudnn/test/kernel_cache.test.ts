import { execFileSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { KernelCache } from '../src/device/kernel_cache.js'
import { loadAddon } from '../src/load_addon.js'
import { openEmulatedGpu } from './emulated_gpu.js'

/** A container may run as a user without an entry and without HOME: Node.js throws then. */
const user = vi.hoisted(() => ({ hasHome: true }))
vi.mock(import('node:os'), async (importOriginal) => {
  const os = await importOriginal()
  const homedir = () => {
    if (user.hasHome) return os.homedir()
    throw new Error('uv_os_homedir returned ENOENT')
  }
  return { ...os, homedir }
})

const IMAGE = Uint8Array.of(1, 2, 3)

describe('KernelCache', () => {
  let root: string
  let folder: string
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'kernel-cache-'))
    folder = join(root, 'deep', 'kernels')
  })
  afterEach(() => {
    vi.unstubAllEnvs()
    rmSync(root, { recursive: true })
  })
  const files = () => readdirSync(folder)

  /** Whether the image had to be compiled. */
  async function compiles(cache: KernelCache, key: readonly string[]) {
    let count = 0
    const image = await cache.image(key, async () => {
      count++
      return IMAGE
    })
    expect([...image]).toEqual([...IMAGE])
    return count === 1
  }

  it('compiles once, in a folder that it makes, and leaves one whole file', async () => {
    expect(await compiles(new KernelCache(folder), ['source'])).toBe(true)
    expect(files()).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.cubin$/)])
    // Another executor, or another process.
    expect(await compiles(new KernelCache(folder), ['source'])).toBe(false)
  })

  it('keeps an image for each source, option and compiler, wherever one text ends and the next begins', async () => {
    const cache = new KernelCache(folder)
    const keys = [['ab', 'c'], ['a', 'bc'], ['abc'], ['ab', 'c', ''], ['c', 'ab']]
    for (const key of keys) expect(await compiles(cache, key)).toBe(true)
    for (const key of keys) expect(await compiles(cache, key)).toBe(false)
    expect(files()).toHaveLength(keys.length)
  })

  it('tries again if a trial ended, and not if an earlier process never ended it', async () => {
    const cache = new KernelCache(folder)
    const key = ['source', 'GPU']
    for (const result of [1, 2]) expect(await cache.guarded(key, async () => result)).toBe(result)
    expect(files()).toEqual([])
    const lost = new Error('the device is lost')
    await expect(cache.guarded(key, () => Promise.reject(lost))).rejects.toBe(lost)
    expect(await new KernelCache(folder).guarded(key, async () => 3)).toBeUndefined()
    expect(await cache.guarded(['source', 'another GPU'], async () => 4)).toBe(4)
    // No note can be written there.
    expect(await new KernelCache('/dev/null/nowhere').guarded(key, async () => 5)).toBeUndefined()
  })

  it.each<[string, (file: Buffer) => Uint8Array]>([
    ['of no bytes', () => new Uint8Array(0)],
    ['without its end', (file) => file.subarray(0, -1)],
    ['without its image', (file) => file.subarray(0, 32)],
    ['of zeros', (file) => new Uint8Array(file.length)],
    ['with another bit', (file) => file.fill(file.at(-1)! ^ 1, file.length - 1)],
    ['with bytes behind it', (file) => Buffer.concat([file, Uint8Array.of(0)])],
    ['of an earlier release, which is the image alone', () => IMAGE],
  ])('compiles a file %s again and replaces it', async (_, damage) => {
    const cache = new KernelCache(folder)
    await compiles(cache, ['source'])
    const file = join(folder, files()[0]!)
    const whole = readFileSync(file)
    writeFileSync(file, damage(Buffer.from(whole)))
    expect(await compiles(cache, ['source'])).toBe(true)
    expect(files()).toHaveLength(1)
    expect(readFileSync(file)).toEqual(whole)
    expect(await compiles(cache, ['source'])).toBe(false)
  })

  it('rejects with the error of the compiler, and leaves no file', async () => {
    const cache = new KernelCache(root)
    await expect(cache.image(['source'], () => Promise.reject(new Error('no compiler')))).rejects.toThrow('no compiler')
    expect(readdirSync(root)).toEqual([])
  })

  it('compiles every time, and never fails, where the folder cannot be made', async () => {
    const file = join(root, 'file')
    writeFileSync(file, '')
    const cache = new KernelCache(join(file, 'kernels'))
    for (let round = 0; round < 2; round++) expect(await compiles(cache, ['source'])).toBe(true)
    expect(readdirSync(root)).toEqual(['file'])
  })

  it('compiles every time where the user has no home', async () => {
    for (const name of ['CUDNN_RNN_CACHE_DIR', 'XDG_CACHE_HOME']) vi.stubEnv(name, undefined)
    user.hasHome = false
    const cache = new KernelCache()
    user.hasHome = true
    for (let round = 0; round < 2; round++) expect(await compiles(cache, ['source'])).toBe(true)
  })

  it('leaves one file where several compile at the same time', async () => {
    const all = Array.from({ length: 5 }, () => compiles(new KernelCache(folder), ['source']))
    await Promise.all(all)
    expect(files()).toHaveLength(1)
    expect(await compiles(new KernelCache(folder), ['source'])).toBe(false)
  })

  it('is in the folder of the argument, of CUDNN_RNN_CACHE_DIR, of XDG_CACHE_HOME, in this order', async () => {
    const [named, own, shared] = ['named', 'own', 'shared'].map((name) => join(root, name)) as [string, string, string]
    vi.stubEnv('XDG_CACHE_HOME', shared)
    vi.stubEnv('CUDNN_RNN_CACHE_DIR', undefined)
    await compiles(new KernelCache(), ['source'])
    expect(readdirSync(join(shared, 'cudnn-rnn'))).toHaveLength(1)
    vi.stubEnv('CUDNN_RNN_CACHE_DIR', own)
    await compiles(new KernelCache(), ['source'])
    expect(readdirSync(own)).toHaveLength(1)
    await compiles(new KernelCache(named), ['source'])
    expect(readdirSync(named)).toHaveLength(1)
    vi.stubEnv('CUDNN_RNN_CACHE_DIR', '')
    expect(await compiles(new KernelCache(), ['source'])).toBe(false)
  })

  const gpu = openEmulatedGpu()
  describe.skipIf(gpu.problem !== undefined)(`an image of an executor (${gpu.problem ?? 'CUDA emulator'})`, () => {
    if (gpu.problem !== undefined) return
    const { libraries, open } = gpu
    afterEach(() => libraries.configure('reset'))

    it('comes from the files beside the addon, unless they are for other GPUs, damaged or refused', async () => {
      libraries.configure('reset')
      const addon = join(root, 'cudnn_rnn_cudnn.node')
      const loaded = loadAddon()
      copyFileSync(loaded.addon === undefined ? '' : loaded.file, addon)
      const script = join(import.meta.dirname, '../../../scripts/build/make_cubins.mjs')
      const options = ['--addon', addon, '--nvrtc', libraries.folder, '--architectures', '90']
      execFileSync(process.execPath, [script, ...options], { stdio: 'ignore' })
      vi.stubEnv('CUDNN_RNN_CUDNN_ADDON', addon)
      const cubins = join(root, 'cubins')
      const made = readdirSync(cubins).map((name) => [join(cubins, name), readFileSync(join(cubins, name))] as const)
      expect(made).toHaveLength(2)
      const compilations = async (settings: string, change: (content: Buffer) => Buffer) => {
        libraries.configure(`reset; ${settings}`)
        for (const [name, content] of made) writeFileSync(name, change(content))
        await using backend = await open({ cacheDir: join(root, randomUUID()) })
        const x = { data: Float32Array.of(-1, 2), shape: [2] }
        expect([...(await backend.ops.activate(x, 'relu').read()).data]).toEqual([0, 2])
        return libraries.report().calls['nvrtcCompileProgram'] ?? 0
      }
      expect(await compilations('capability=9.0', (content) => content)).toBe(0)
      expect(await compilations('capability=8.0', (content) => content)).toBe(1)
      expect(await compilations('capability=9.0', (content) => content.subarray(0, 1000))).toBe(1)
      const image = Buffer.from('not of this driver')
      const refused = Buffer.concat([createHash('sha256').update(image).digest(), image])
      expect(await compilations('capability=9.0', () => brotliCompressSync(refused))).toBe(1)
      expect(libraries.report().violations).toEqual([])
    })

    it('that is cut off is compiled again, and the executor computes', async () => {
      libraries.configure('reset')
      await (await open({ cacheDir: folder })).close()
      const file = join(folder, files()[0]!)
      writeFileSync(file, readFileSync(file).subarray(0, 1000))
      const compilations = () => libraries.report().calls['nvrtcCompileProgram']
      const before = compilations()!
      await using backend = await open({ cacheDir: folder })
      const x = { data: Float32Array.of(-1, 2), shape: [2] }
      expect([...(await backend.ops.activate(x, 'relu').read()).data]).toEqual([0, 2])
      expect(compilations()).toBe(before + 1)
      await (await open({ cacheDir: folder })).close()
      expect(compilations()).toBe(before + 1)
      expect(libraries.report().violations).toEqual([])
    })
  })
})
