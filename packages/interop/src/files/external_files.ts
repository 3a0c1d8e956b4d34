import { realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, resolve, sep } from 'node:path'
import { type ByteSource, openFileSource } from '@cudnn-rnn/checkpoint'
import { corrupt, unsupported, WeightFileError } from '../errors.js'

/**
 * Files beside a model in which elements of its tensors lie. The model names them, and a hostile one may name any file of
 * the machine: only files within the model's own folder are opened, wherever links lead.
 */
export class ExternalFiles {
  readonly #model: string
  readonly #isPath: boolean
  readonly #sources = new Map<string, ByteSource>()

  /** @param isPath false for a model in memory, which has no folder. */
  constructor(model: string, isPath: boolean) {
    this.#model = model
    this.#isPath = isPath
  }

  /**
   * The file that the model calls `location`, opened once.
   *
   * @throws WeightFileError `ERR_WEIGHTS_CORRUPT` for a place outside the model's folder, `ERR_WEIGHTS_NOT_FOUND`,
   *   `ERR_WEIGHTS_UNSUPPORTED` for a model that was given as bytes
   */
  async open(location: string): Promise<ByteSource> {
    if (!this.#isPath) {
      throw unsupported(
        this.#model,
        `tensors must be within a model given as bytes: some are in ${location}. Give its path`,
      )
    }
    // One file under many names ('a', './a') is opened once.
    const path = await this.#pathOf(location)
    const known = this.#sources.get(path)
    if (known !== undefined) return known
    const source = await openFileSource(path)
    if (source === undefined) throw this.#notFound(location)
    this.#sources.set(path, source)
    return source
  }

  /** Together the sizes of the files that were opened. */
  get heldBytes(): number {
    return [...this.#sources.values()].reduce((sum, { size }) => sum + size, 0)
  }

  async close(): Promise<void> {
    const sources = [...this.#sources.values()]
    this.#sources.clear()
    await Promise.all(sources.map((source) => source.close()))
  }

  async #pathOf(location: string): Promise<string> {
    const segments = location.split(/[\\/]/)
    const leaves = location === '' || isAbsolute(location) || /^[A-Za-z]:|\0/.test(location) || segments.includes('..')
    if (leaves) throw this.#outside(location)
    const folder = dirname(this.#model)
    const path = await realpath(resolve(folder, location)).catch((cause: unknown) => {
      throw this.#notFound(location, cause)
    })
    // Caches keep models as links into a folder of files: there too, the file must be beside the model.
    const folders = [await realpath(folder), dirname(await realpath(this.#model))]
    if (!folders.some((inside) => path.startsWith(inside.endsWith(sep) ? inside : inside + sep)))
      throw this.#outside(location)
    if (!(await stat(path)).isFile()) throw corrupt(this.#model, `its tensors are in ${location}, which is not a file`)
    return path
  }

  #outside(location: string): WeightFileError {
    return corrupt(this.#model, `its tensors must be in its own folder: ${JSON.stringify(location)} does not`)
  }

  #notFound(location: string, cause?: unknown): WeightFileError {
    return new WeightFileError(
      'ERR_WEIGHTS_NOT_FOUND',
      `Cannot read weight file as ${location}, which has some of its tensors, is not beside it`,
      { path: this.#model, cause },
    )
  }
}
