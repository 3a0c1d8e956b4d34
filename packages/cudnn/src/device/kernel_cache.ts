import { createHash, randomUUID } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import { makeDirectory, replaceFile } from '@cudnn-rnn/checkpoint/files'
import { homeFolder } from '../sys/library_places.js'

/** Digest bytes of the image, in front of it. */
const DIGEST_BYTES = 32

/**
 * Compiled kernels on disk, one file per source, options and compiler: the SHA-256 of the image, then the image. After any
 * error the kernels are compiled again, also if the image is damaged: the driver takes it without a length, and reads
 * past the end of one that was cut off.
 */
export class KernelCache {
  readonly #folder: string | undefined
  readonly #shipped: string | undefined

  /**
   * @param folder default CUDNN_RNN_CACHE_DIR, else cudnn-rnn in the user's cache folder; a user without one keeps no images.
   * @param shipped the folder of {@link shipped}
   */
  constructor(folder?: string, shipped?: string) {
    this.#shipped = shipped
    const { env } = process
    const home = homeFolder()
    // An empty variable counts as none: the folder would be the current one.
    const caches = env['XDG_CACHE_HOME'] || (home && join(home, '.cache'))
    this.#folder = folder ?? (env['CUDNN_RNN_CACHE_DIR'] || (caches && join(caches, 'cudnn-rnn')))
  }

  /**
   * Machine code that scripts/build/make_cubins.mjs compiled for a release: one compressed file per source and options.
   * Undefined if there is none of `key`, or it is damaged.
   */
  async shipped(key: readonly string[]): Promise<Uint8Array | undefined> {
    if (this.#shipped === undefined) return undefined
    const file = await readFile(fileOf(this.#shipped, key, 'br'))
      .then(promisify(brotliDecompress))
      .catch(() => new Uint8Array(0))
    return imageOf(file)
  }

  /** The image that `compile` makes, from disk if it was made before. */
  async image(key: readonly string[], compile: () => Promise<Uint8Array>): Promise<Uint8Array> {
    if (this.#folder === undefined) return await compile()
    // The key has the source, the options and the compiler's version, so a file never needs to be invalidated.
    const file = fileOf(this.#folder, key, 'cubin')
    const kept = imageOf(await readFile(file).catch(() => new Uint8Array(0)))
    if (kept !== undefined) return kept
    const image = await compile()
    await writeImage(file, image)
    return image
  }

  /**
   * Runs `use` unless an earlier process began it and did not end, or is at it: a kernel that takes the process or the GPU
   * with it does so once. Undefined if it does not run. Without a folder to note it in nothing is tried.
   */
  async guarded<Result>(key: readonly string[], use: () => Promise<Result>): Promise<Result | undefined> {
    if (this.#folder === undefined) return undefined
    const file = fileOf(this.#folder, key, 'trying')
    try {
      await makeDirectory(this.#folder)
      await writeFile(file, '', { flag: 'wx' })
    } catch {
      return undefined
    }
    // An error is the end of the device: the note stays.
    const result = await use()
    await rm(file, { force: true })
    return result
  }
}

function fileOf(folder: string, key: readonly string[], extension: string): string {
  return join(folder, `${createHash('sha256').update(key.join('\0')).digest('hex')}.${extension}`)
}

/** Written beside and renamed, so that no other process reads half a file. */
async function writeImage(file: string, image: Uint8Array): Promise<void> {
  const half = `${file}.${randomUUID()}`
  try {
    await makeDirectory(dirname(file))
    await writeFile(half, Buffer.concat([digestOf(image), image]), { flag: 'wx' })
    await replaceFile(half, file)
  } catch {
    // A read-only or full disk costs the compilation next time, nothing else.
    await rm(half, { force: true }).catch(() => undefined)
  }
}

/** The image of a file; undefined if it is not the one that was written. */
function imageOf(file: Uint8Array): Uint8Array | undefined {
  const image = file.subarray(DIGEST_BYTES)
  return digestOf(image).equals(file.subarray(0, DIGEST_BYTES)) ? image : undefined
}

function digestOf(image: Uint8Array): Buffer {
  return createHash('sha256').update(image).digest()
}
