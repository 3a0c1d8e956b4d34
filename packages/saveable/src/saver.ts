import { existsSync } from 'node:fs'
import { elementCount, Inspectable, type Summary } from '@cudnn-rnn/canonical'
import {
  checkArguments,
  checkOptions,
  codedRangeError,
  FILE_PATH,
  FLAG,
  hasErrorCode,
  integerFrom,
  kind,
  listOf,
  methods,
  type OptionsOf,
  oneOf,
  optional,
  POSITIVE,
} from '@cudnn-rnn/canonical/rules'
import {
  type CheckpointReader,
  type FileStore,
  isFileStore,
  type NamedTensor,
  openCheckpoint,
  writeCheckpoint,
} from '@cudnn-rnn/checkpoint'
import { RestoreError, type TensorMismatch } from './restore_error.js'
import {
  type ExpectedTensor,
  type KeyedTensor,
  type KeyedTensors,
  NAMINGS,
  type NumericTensor,
  type Saveable,
} from './saveable.js'

/** Readings of one restore, of which each but the last met a save over the same prefix. */
const MOST_ATTEMPTS = 20

const OPTIONS = {
  /** Checkpoints to keep; older ones are deleted. 0 keeps all. Default 5. */
  maxToKeep: optional(integerFrom(0)),
  /** Keeps one checkpoint for every so many hours for good. Default 10,000. */
  keepCheckpointEveryNHours: optional(POSITIVE),
  /** Pads the step to 8 digits, so that names sort as steps do. Default false. */
  padStepNumber: optional(FLAG),
  /** Keys of which release; default this package's own. */
  naming: optional(oneOf(NAMINGS)),
  /** A folder outside the system's files, such as one of a browser; paths are then names in it. */
  store: optional(kind('a FileStore such as directoryStore(handle)', isFileStore)),
}

interface SaverOptions extends OptionsOf<typeof OPTIONS> {}

const SAVE_OPTIONS = {
  /** Ends the name of the checkpoint: `model-100`. Default: the name is the path alone. */
  globalStep: optional(integerFrom(0)),
}

interface SaveOptions extends OptionsOf<typeof SAVE_OPTIONS> {}

const SAVEABLES = listOf(methods('a saveable such as new RNNParamsSaveable(…)', 'tensors'))

/**
 * TensorFlow's `Saver`: saves several saveables into one V2 checkpoint, keeps the newest few, and restores all or nothing.
 *
 * @example
 * ```ts
 * import { CudnnLSTM, openBackend, RNNParamsSaveable, Saver } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 4, inputSize: 2 })
 * const params = lstm.createParams({ seed: 1 })
 * const encoder = new RNNParamsSaveable(lstm.paramsToCanonical, lstm.canonicalToParams, [params], 'encoder')
 * const saver = new Saver([encoder], { maxToKeep: 3 })
 * const prefix = await saver.save('run/model', { globalStep: 100 })
 * console.log(prefix) // run/model-100
 * await saver.restore(prefix)
 * ```
 */
export class Saver extends Inspectable {
  readonly #saveables: readonly Saveable[]
  readonly #options: Required<{ [Name in keyof Omit<SaverOptions, 'store'>]: NonNullable<SaverOptions[Name]> }>
  readonly #store: FileStore | undefined

  /** Throws RangeError `ERR_DUPLICATE_SAVEABLE`, `ERR_INVALID_OPTION`; TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_ARGUMENT`, `ERR_INVALID_OPTION_TYPE`. */
  constructor(saveables: readonly Saveable[], options: SaverOptions = {}) {
    super()
    const { saveables: own } = checkArguments('make a saver', { saveables }, { saveables: SAVEABLES })
    const given = checkOptions('make a saver', options, OPTIONS)
    const names = own.map(({ name }) => name)
    const seen = new Set<string>()
    const duplicate = names.find((name) => seen.size === seen.add(name).size)
    if (duplicate !== undefined) {
      throw codedRangeError(
        'ERR_DUPLICATE_SAVEABLE',
        `Cannot make a saver as its saveables need distinct names: current name of two is ${duplicate}`,
        { saveable: duplicate },
      )
    }
    const { maxToKeep = 5, keepCheckpointEveryNHours = 10_000, padStepNumber = false, naming = 'default' } = given
    this.#saveables = own
    this.#store = given.store
    this.#options = { maxToKeep, keepCheckpointEveryNHours, padStepNumber, naming }
  }

  /**
   * Saves everything under `<path>-<globalStep>` (or `path` without a step), notes it in the directory's state file, and
   * deletes checkpoints beyond maxToKeep. The save is atomic, also over a checkpoint of the same
   * prefix, and any number of savers may save into one directory at once: they share its history.
   *
   * Tensors are read and written one after the other, so memory holds one of them (for keys of TensorFlow's cells:
   * one cell's). Change no values before the promise resolves.
   *
   * @returns the prefix of the checkpoint.
   * @throws CheckpointError; TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_DUPLICATE_KEY`, `ERR_NAMING`. Then the
   *   checkpoints of before and the state file are as they were.
   */
  async save(path: string, options: SaveOptions = {}): Promise<string> {
    checkArguments('save', { path }, { path: FILE_PATH })
    const { globalStep } = checkOptions('save', options, SAVE_OPTIONS)
    const prefix = globalStep === undefined ? path : `${path}-${this.#stepText(globalStep)}`
    const { maxToKeep, keepCheckpointEveryNHours } = this.#options
    const retention = { maxToKeep, keepCheckpointEveryNHours }
    await writeCheckpoint(prefix, this.#tensors(), { retention, store: this.#store })
    return prefix
  }

  async *#tensors(): AsyncGenerator<NamedTensor> {
    const keys = new Set<string>()
    for (const saveable of [...this.#saveables].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      for await (const [key, tensor] of this.#tensorsOf(saveable)) {
        if (keys.has(key)) {
          throw codedRangeError(
            'ERR_DUPLICATE_KEY',
            `Cannot save as two tensors have the key ${key}: rename saveable ${saveable.name}`,
            { key },
          )
        }
        keys.add(key)
        yield [key, tensor] as NamedTensor
      }
    }
  }

  async *#tensorsOf(saveable: Saveable): AsyncGenerator<KeyedTensor> {
    const { naming } = this.#options
    if (saveable.stream !== undefined) yield* saveable.stream(naming)
    else yield* [...(await saveable.tensors(naming))].sort(([a], [b]) => (a < b ? -1 : 1))
  }

  /**
   * Restores everything from a checkpoint, or changes nothing. If saves replace the checkpoint meanwhile, it is read again.
   *
   * @throws RestoreError naming every missing, extra or misshapen tensor at once; CheckpointError, of which
   *   `ERR_CHECKPOINT_REPLACED` states that a save with `maxToKeep` removed the checkpoint: restore the latest one
   */
  async restore(prefix: string): Promise<void> {
    for (let left = MOST_ATTEMPTS; ; ) {
      try {
        await this.#restoreOnce(prefix)
        return
      } catch (error) {
        const isReplaced = hasErrorCode(error, 'ERR_CHECKPOINT_REPLACED') && (await this.#exists(prefix))
        if (!isReplaced || --left === 0) throw error
      }
    }
  }

  async #exists(prefix: string): Promise<boolean> {
    if (this.#store === undefined) return existsSync(`${prefix}.index`)
    return (await this.#store.names()).includes(`${prefix}.index`)
  }

  async #restoreOnce(prefix: string): Promise<void> {
    const reader = await openCheckpoint(prefix, { store: this.#store })
    try {
      const { naming } = this.#options
      const expected = new Map<Saveable, ReadonlyMap<string, ExpectedTensor>>()
      for (const saveable of this.#saveables) expected.set(saveable, await saveable.expected(naming))
      this.#compare(prefix, reader, expected)
      const commits: (() => void | Promise<void>)[] = []
      for (const [saveable, keys] of expected) {
        const tensors = new Map<string, NumericTensor>()
        for (const key of keys.keys()) tensors.set(key, (await reader.read(key)) as NumericTensor)
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
        const sameShape = anyShape
          ? elementCount(actual.shape) === elementCount(shape)
          : actual.shape.join() === shape.join()
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

  protected override summary(): Summary {
    return { kind: 'Saver', saveables: this.#saveables.map(({ name }) => name), ...this.#options }
  }

  #stepText(step: number): string {
    return this.#options.padStepNumber ? String(step).padStart(8, '0') : String(step)
  }
}
