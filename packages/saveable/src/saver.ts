import { readdir, rm } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { checkOptionNames, codedRangeError, codedTypeError } from '@cudnn-rnn/canonical'
import {
  type CheckpointReader,
  type NamedTensor,
  openCheckpoint,
  readCheckpointState,
  resolvePath,
  writeCheckpoint,
  writeCheckpointState,
} from '@cudnn-rnn/checkpoint'
import { RestoreError, type TensorMismatch } from './restore_error.js'
import type { ExpectedTensor, HostTensor, KeyedTensors, Naming, Saveable } from './saveable.js'

export interface SaverOptions {
  /** Checkpoints to keep; older ones are deleted. 0 keeps all. Default 5. */
  readonly maxToKeep?: number | undefined
  /** Keeps one checkpoint for every so many hours for good. Default 10,000. */
  readonly keepCheckpointEveryNHours?: number | undefined
  /** Pads the step to 8 digits, so that names sort as steps do. Default false. */
  readonly padStepNumber?: boolean | undefined
  /** Keys of which release; default this package's own. */
  readonly naming?: Naming | undefined
}

const OPTION_NAMES: readonly (keyof SaverOptions)[] = [
  'maxToKeep',
  'keepCheckpointEveryNHours',
  'padStepNumber',
  'naming',
]
const NAMINGS: readonly Naming[] = ['default', 'tf-1.2', 'tf-1.3']

/**
 * TensorFlow's `Saver`: saves several saveables into one V2 checkpoint, keeps the newest few, and restores all or nothing.
 */
export class Saver {
  readonly #saveables: readonly Saveable[]
  readonly #options: Required<{ [Name in keyof SaverOptions]: NonNullable<SaverOptions[Name]> }>

  /** Throws RangeError `ERR_DUPLICATE_SAVEABLE`, `ERR_INVALID_OPTION`; TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_ARGUMENT`. */
  constructor(saveables: readonly Saveable[], options: SaverOptions = {}) {
    checkOptionNames('make a saver', options, OPTION_NAMES)
    if (!Array.isArray(saveables) || !saveables.every((saveable) => typeof saveable?.tensors === 'function')) {
      throw codedTypeError(
        'ERR_INVALID_ARGUMENT',
        'Cannot make a saver as it needs an array of saveables, such as [new RNNParamsSaveable(…)]',
      )
    }
    const names = saveables.map(({ name }) => name)
    const duplicate = names.find((name, index) => names.indexOf(name) !== index)
    if (duplicate !== undefined) {
      throw codedRangeError(
        'ERR_DUPLICATE_SAVEABLE',
        `Cannot make a saver as its saveables need names of their own: current name of two is ${duplicate}`,
        { saveable: duplicate },
      )
    }
    const { maxToKeep = 5, keepCheckpointEveryNHours = 10_000, padStepNumber = false, naming = 'default' } = options
    if (
      !NAMINGS.includes(naming) ||
      !Number.isInteger(maxToKeep) ||
      maxToKeep < 0 ||
      !(keepCheckpointEveryNHours > 0)
    ) {
      throw codedRangeError(
        'ERR_INVALID_OPTION',
        `Cannot make a saver as naming must be one of ${NAMINGS.join(', ')}, maxToKeep an integer >= 0 and keepCheckpointEveryNHours > 0: current values are ${naming}, ${maxToKeep}, ${keepCheckpointEveryNHours}`,
        { naming, maxToKeep, keepCheckpointEveryNHours },
      )
    }
    this.#saveables = saveables
    this.#options = { maxToKeep, keepCheckpointEveryNHours, padStepNumber, naming }
  }

  /**
   * Saves everything under `<path>-<globalStep>` (or `path` without a step) and notes it in the directory's state file,
   * last; then deletes what is older than maxToKeep.
   *
   * @returns the prefix of the checkpoint.
   * @throws CheckpointError; TypeError `ERR_UNKNOWN_OPTION`; the checkpoints of before and the state file are as they were
   */
  async save(path: string, options: { readonly globalStep?: number | undefined } = {}): Promise<string> {
    checkOptionNames('save', options, ['globalStep'])
    const { globalStep } = options
    const prefix = globalStep === undefined ? path : `${path}-${this.#stepText(globalStep)}`
    const tensors = new Map<string, HostTensor>()
    for (const saveable of this.#saveables) {
      for (const [key, tensor] of await saveable.tensors(this.#options.naming)) {
        if (tensors.has(key)) {
          throw codedRangeError(
            'ERR_DUPLICATE_KEY',
            `Cannot save as two tensors have the key ${key}: rename saveable ${saveable.name}`,
            { key },
          )
        }
        tensors.set(key, tensor)
      }
    }
    const sorted = [...tensors].sort(([a], [b]) => (a < b ? -1 : 1))
    await writeCheckpoint(prefix, sorted as NamedTensor[])
    await this.#rotate(prefix)
    return prefix
  }

  /**
   * Restores everything from a checkpoint, or changes nothing.
   *
   * @throws RestoreError naming every missing, extra or misshapen tensor at once; CheckpointError
   */
  async restore(prefix: string): Promise<void> {
    const reader = await openCheckpoint(prefix)
    try {
      const { naming } = this.#options
      const expected = new Map<Saveable, ReadonlyMap<string, ExpectedTensor>>()
      for (const saveable of this.#saveables) expected.set(saveable, await saveable.expected(naming))
      this.#compare(prefix, reader, expected)
      const commits: (() => void | Promise<void>)[] = []
      for (const [saveable, keys] of expected) {
        const tensors = new Map<string, HostTensor>()
        for (const key of keys.keys()) tensors.set(key, (await reader.read(key)) as HostTensor)
        commits.push(await saveable.prepare(tensors as KeyedTensors, naming))
      }
      for (const commit of commits) await commit()
    } finally {
      await reader.close()
    }
  }

  #compare(
    prefix: string,
    reader: CheckpointReader,
    expected: Map<Saveable, ReadonlyMap<string, ExpectedTensor>>,
  ): void {
    const missing: string[] = []
    const misshapen: TensorMismatch[] = []
    const known = new Set<string>()
    for (const keys of expected.values()) {
      for (const [key, { shape, dtype, anyShape }] of keys) {
        known.add(key)
        if (!reader.has(key)) {
          missing.push(key)
          continue
        }
        const actual = { shape: reader.shape(key), dtype: reader.dtype(key) }
        const sameShape = anyShape ? elements(actual.shape) === elements(shape) : actual.shape.join() === shape.join()
        if (!sameShape || actual.dtype !== dtype) {
          misshapen.push({ key, expected: `${dtype} [${shape}]`, actual: `${actual.dtype} [${actual.shape}]` })
        }
      }
    }
    const extra = reader
      .names()
      .filter((key) => !known.has(key) && this.#saveables.some((saveable) => saveable.owns(key, this.#options.naming)))
    if (missing.length + extra.length + misshapen.length > 0)
      throw new RestoreError(prefix, { missing, extra, misshapen })
  }

  #stepText(step: number): string {
    if (!Number.isSafeInteger(step) || step < 0) {
      throw codedRangeError(
        'ERR_INVALID_OPTION',
        `Cannot save as globalStep must be an integer >= 0: current value is ${step}`,
        { step },
      )
    }
    return this.#options.padStepNumber ? String(step).padStart(8, '0') : String(step)
  }

  /** Notes the new checkpoint as the newest, and deletes the oldest beyond maxToKeep, but for those kept for good. */
  async #rotate(prefix: string): Promise<void> {
    const directory = dirname(prefix)
    const { maxToKeep, keepCheckpointEveryNHours } = this.#options
    const now = Date.now() / 1000
    const entry = { path: isAbsolute(prefix) ? resolve(prefix) : basename(prefix), time: now }
    const absolute = (path: string) => resolve(resolvePath(directory, path))
    const before = await readCheckpointState(directory)
    let history = (before?.allModelCheckpointPaths ?? [])
      .map((path, index) => ({ path, time: before?.allModelCheckpointTimestamps[index] ?? now }))
      .filter(({ path }) => absolute(path) !== absolute(entry.path))
    history = maxToKeep === 0 ? [entry] : [...history, entry]

    let preserved = before?.lastPreservedTimestamp ?? history[0]!.time
    const evicted: string[] = []
    while (maxToKeep > 0 && history.length > maxToKeep) {
      const oldest = history.shift()!
      if (oldest.time - preserved > keepCheckpointEveryNHours * 3600) preserved = oldest.time
      else evicted.push(oldest.path)
    }
    await writeCheckpointState(directory, {
      modelCheckpointPath: entry.path,
      allModelCheckpointPaths: history.map(({ path }) => path),
      allModelCheckpointTimestamps: history.map(({ time }) => time),
      lastPreservedTimestamp: preserved,
    })
    for (const path of evicted) await removeCheckpoint(directory, resolvePath(directory, path))
  }
}

/**
 * Deletes a checkpoint, its index first: without it the rest is not one. A state file may name any path, so only files of
 * its own directory are touched.
 */
async function removeCheckpoint(directory: string, prefix: string): Promise<void> {
  if (resolve(dirname(prefix)) !== resolve(directory)) return
  await rm(`${prefix}.index`, { force: true })
  const base = basename(prefix)
  for (const name of await readdir(directory)) {
    if (!name.startsWith(base) || !/^\.(?:data-\d{5}-of-\d{5}|meta)$/.test(name.slice(base.length))) continue
    await rm(join(directory, name), { force: true })
  }
}

function elements(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1)
}
