import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describeValue } from '@cudnn-rnn/canonical'
import {
  checkArguments,
  checkOptions,
  codedRangeError,
  codedTypeError,
  either,
  type ErrorCode,
  fields,
  FINITE,
  FUNCTION,
  hasErrorCode,
  integerFrom,
  jsonObject,
  kind,
  listOf,
  methods,
  nullable,
  oneOf,
  optional,
  type OptionsOf,
  PATH,
  recordOf,
  TEXT,
  where,
} from '@cudnn-rnn/canonical/rules'
import {
  CheckpointError,
  FileLock,
  type FileStore,
  isFileStore,
  openCheckpoint,
  readCheckpointState,
  recoverSaves,
} from '@cudnn-rnn/checkpoint'
import { makeDirectory } from '@cudnn-rnn/checkpoint/files'
import { type Backend, isBackendTensor } from '@cudnn-rnn/ops'
import { type NumericTensor, type Saveable, Saver } from '@cudnn-rnn/saveable'
import type { RestoredRecord, SkippedCheckpoint, Trainable, TrainingRecord, TrainingSaver } from '@cudnn-rnn/train'
import { BACKEND } from '@cudnn-rnn/ops/executor'
import type { RecurrentModel } from '../kinds/recurrent.js'
import { saveablesOf, savedOnly } from '../model/variable_saveables.js'

const MODEL = methods('a model such as new CudnnLSTM(…)', 'paramsToCanonical', 'canonicalToParams')
const OPTIONS = {
  /** The recurrent models whose opaque buffers are trained: they and their slots are saved canonically. */
  models: optional<readonly RecurrentModel[]>(listOf(MODEL)),
  /** More tensors to save beside those that are trained, such as a description of the model; a restore does not read them. */
  notes: optional<Readonly<Record<string, NumericTensor>>>(fields({})),
  /** Checkpoints to keep of the latest and of the best; default 2: a resume falls back on the older where one is damaged. */
  maxToKeep: optional(integerFrom(0)),
}

interface TrainingCheckpointsOptions extends OptionsOf<typeof OPTIONS> {}

const KIND = oneOf(['latest', 'best'])
const TENSORS = listOf(fields({ name: TEXT, value: kind('a tensor of the executor', isBackendTensor) }))
const COUNT = integerFrom(0)
const RECORD = where(
  fields({
    step: COUNT,
    optimizerStep: COUNT,
    best: nullable(fields({ value: FINITE, step: COUNT, evaluationsSince: COUNT })),
    skippedInARow: COUNT,
    unevaluated: optional(recordOf(TEXT)),
    settings: optional(recordOf(TEXT)),
    ranks: optional(integerFrom(1)),
  }),
  'a record whose extra is a list, if it has a number of ranks',
  (record: object) => {
    const { ranks, extra } = record as Partial<TrainingRecord>
    return ranks === undefined || Array.isArray(extra)
  },
)

/** The rule of a folder outside the system's files. */
export const STORE = kind('a FileStore such as directoryStore(handle)', isFileStore)

/** The key of a run's record in its checkpoint: JSON in UTF-8. */
const RECORD_KEY = 'training_record'

/** Name of all checkpoints, before the step. */
const NAME = 'model'

export const BEST = 'best'

/** The lock of the process that trains. */
const LOCK_NAME = 'training.lock'

/** Errors that say that a checkpoint is not whole; a file that may not be read, for one, is not damaged. */
const DAMAGE: readonly ErrorCode[] = [
  'ERR_CHECKPOINT_NOT_FOUND',
  'ERR_CHECKPOINT_CORRUPT',
  'ERR_CHECKPOINT_CHECKSUM',
  'ERR_CHECKPOINT_REPLACED',
  'ERR_TENSOR_NOT_FOUND',
]

/**
 * Stores the saves of `fit` as TensorFlow checkpoints, `<directory>/model-<step>` and `<directory>/best/model-<step>`:
 * any executor resumes from them, and TensorFlow reads them (with `global_step`). A save is atomic. The directory may be a
 * store: in a browser, `directoryStore(await navigator.storage.getDirectory())`.
 *
 * @example
 * ```ts
 * import { dense, openBackend, sequential, TrainingCheckpoints } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [dense({ units: 1 })], { inputSize: 2 })
 * const { variables } = model
 * const checkpoints = new TrainingCheckpoints(backend, 'runs/a', { maxToKeep: 2 })
 * const record = { step: 7, optimizerStep: 7, position: null, best: null, skippedInARow: 0, extra: null }
 * await checkpoints.save('latest', variables, record)
 * console.log((await checkpoints.restore(variables))?.step) // 7
 * ```
 */
export class TrainingCheckpoints implements TrainingSaver {
  /** The directory, or the name of the store. */
  readonly directory: string
  readonly #store: FileStore | undefined
  readonly #backend: Backend
  readonly #models: NonNullable<TrainingCheckpointsOptions['models']>
  readonly #maxToKeep: number
  readonly #notes: Readonly<Record<string, NumericTensor>>
  #lock: { release(): Promise<void> } | undefined
  #lockUses = 0

  /** Throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_ARGUMENT`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`. */
  constructor(backend: Backend, directory: string | FileStore, options: TrainingCheckpointsOptions = {}) {
    checkArguments(
      'keep training checkpoints',
      { backend, directory },
      { backend: BACKEND, directory: either(PATH, STORE) },
    )
    const given = checkOptions('keep training checkpoints', options, OPTIONS)
    this.#store = isFileStore(directory) ? directory : undefined
    this.directory = isFileStore(directory) ? directory.name : directory
    this.#backend = backend
    this.#models = given.models ?? []
    this.#maxToKeep = given.maxToKeep ?? 2
    this.#notes = given.notes ?? {}
  }

  /** Throws CheckpointError; RangeError `ERR_UNKNOWN_LAYOUT` for an opaque buffer of a model that is not among `models`. */
  async save(kind: 'latest' | 'best', tensors: readonly Trainable[], record: TrainingRecord): Promise<void> {
    const action = 'save a training checkpoint'
    const { tensors: saved, record: own } = checkArguments(
      action,
      { kind, tensors, record },
      { kind: KIND, tensors: TENSORS, record: RECORD },
    )
    const text = recordText(own)
    const { folder, store } = this.#place(kind)
    if (store === undefined) await makeFolder(folder)
    const data = new TextEncoder().encode(text)
    const saver = new Saver(
      [
        ...this.#saveables(saved),
        savedOnly(RECORD_KEY, { data, shape: [data.length] }),
        ...Object.entries(this.#notes).map(([name, tensor]) => savedOnly(name, tensor)),
        savedOnly('global_step', { data: BigInt64Array.of(BigInt(own.step)), shape: [] }),
      ],
      { maxToKeep: this.#maxToKeep, store },
    )
    await saver.save(store === undefined ? join(folder, NAME) : NAME, { globalStep: own.step })
  }

  /**
   * Restores the newest whole checkpoint, all of it or nothing. `best` is the best of the run; if none of it is whole,
   * and for `latest` in the order of steps, the checkpoints of the other kind serve too. Skipped checkpoints are in the
   * record as `skipped`.
   *
   * @param check called with the record before any tensor is written; its error ends the restore
   * @returns undefined if the directory has no checkpoint and no trace of one.
   * @throws RangeError `ERR_NO_WHOLE_CHECKPOINT`, which lists every checkpoint with its defect; RestoreError for a
   *   checkpoint of other tensors; CheckpointError `ERR_CHECKPOINT_IO`
   */
  async restore(
    tensors: readonly Trainable[],
    kind: 'latest' | 'best' = 'latest',
    check?: (record: TrainingRecord) => void,
  ): Promise<RestoredRecord | undefined> {
    const rules = { tensors: TENSORS, kind: KIND, check: optional(FUNCTION) }
    checkArguments('restore a training checkpoint', { tensors, kind, check }, rules)
    const skipped: SkippedCheckpoint[] = []
    for (const candidate of await this.#candidates(kind, skipped)) {
      const record = await this.#restoreFrom(candidate, tensors, skipped, check)
      if (record !== undefined) return skipped.length === 0 ? record : { ...record, skipped }
    }
    if (skipped.length === 0) return undefined
    throw codedRangeError(
      'ERR_NO_WHOLE_CHECKPOINT',
      `Cannot restore as ${this.directory} must hold a whole checkpoint: ${skipped.map(({ path, message }) => `${nameOf(path)} (${message})`).join('; ')}. Put the files of one of them back from a copy, or begin a new run in another directory`,
      { directory: this.directory, skipped },
    )
  }

  /**
   * Keeps other processes, and other objects of this class, from training in the directory. Calls of one object nest.
   *
   * @returns releases the lock when it is disposed; a process that ends releases it in any case.
   * @throws RangeError `ERR_RUN_LOCKED`; CheckpointError `ERR_CHECKPOINT_IO`
   */
  async lock(): Promise<AsyncDisposable> {
    this.#lock ??= this.#store === undefined ? await this.#lockDirectory() : await this.#lockStore(this.#store)
    const lock = this.#lock
    this.#lockUses++
    let isHeld = true
    return {
      [Symbol.asyncDispose]: async () => {
        if (!isHeld) return
        isHeld = false
        if (--this.#lockUses > 0) return
        this.#lock = undefined
        await lock.release()
      },
    }
  }

  async #lockDirectory(): Promise<FileLock> {
    await makeFolder(this.directory)
    try {
      return await FileLock.acquire(join(this.directory, LOCK_NAME))
    } catch (cause) {
      if (!hasErrorCode(cause, 'ERR_CHECKPOINT_LOCKED')) throw cause
      throw this.#locked(`one process at a time may: ${cause.message}`, cause)
    }
  }

  async #lockStore(store: FileStore) {
    const lock = await store.lock(LOCK_NAME, false)
    if (lock !== undefined) return lock
    throw this.#locked('one program at a time may, and another does: close its tab or end its worker')
  }

  #locked(rule: string, cause?: unknown) {
    return codedRangeError('ERR_RUN_LOCKED', `Cannot train in ${this.directory} as ${rule}`, {
      directory: this.directory,
      cause,
    })
  }

  /** Checkpoints in the order in which they are tried; a damaged state file is added to `skipped`. */
  async #candidates(kind: 'latest' | 'best', skipped: SkippedCheckpoint[]): Promise<Candidate[]> {
    const latest = await listedOrThere(this.#place('latest'), skipped)
    const best = await listedOrThere(this.#place('best'), skipped)
    const byStep = (all: Candidate[]) => all.sort((a, b) => stepOf(b.prefix) - stepOf(a.prefix))
    return kind === 'latest' ? byStep([...latest, ...best]) : [...byStep(best), ...byStep(latest)]
  }

  async #restoreFrom(
    { prefix, store }: Candidate,
    tensors: readonly Trainable[],
    skipped: SkippedCheckpoint[],
    check: ((record: TrainingRecord) => void) | undefined,
  ): Promise<TrainingRecord | undefined> {
    try {
      await using reader = await openCheckpoint(prefix, { store })
      const { data } = await reader.read(RECORD_KEY)
      const record = jsonObject(data as Uint8Array) as TrainingRecord | undefined
      const fault = RECORD.find(record, RECORD_KEY)
      if (record === undefined || fault !== undefined) throw damagedRecord(prefix, fault)
      check?.(record)
      await new Saver(this.#saveables(tensors), { store }).restore(prefix)
      return record
    } catch (error) {
      if (!hasErrorCode(error, ...DAMAGE)) throw error
      const path = store === undefined ? prefix : `${store.name}/${prefix}`
      skipped.push({ path, code: error.code, message: error.message })
      return undefined
    }
  }

  #place(kind: 'latest' | 'best'): Place {
    const isBest = kind === 'best'
    if (this.#store !== undefined) {
      return { folder: this.directory, store: isBest ? this.#store.folder(BEST) : this.#store }
    }
    return { folder: isBest ? join(this.directory, BEST) : this.directory, store: undefined }
  }

  #saveables(tensors: readonly Trainable[]): Saveable[] {
    return saveablesOf(this.#backend, tensors, this.#models)
  }
}

interface Place {
  readonly folder: string
  readonly store: FileStore | undefined
}

interface Candidate {
  readonly prefix: string
  readonly store: FileStore | undefined
}

function damagedRecord(path: string, fault: ReturnType<typeof RECORD.find>): CheckpointError {
  const rule = `${fault?.path ?? RECORD_KEY} must be ${fault?.words ?? 'an object in JSON'}`
  const message = `Cannot restore as ${rule}: current value is ${describeValue(fault?.value)}`
  return new CheckpointError('ERR_CHECKPOINT_CORRUPT', message, { path })
}

function recordText(record: TrainingRecord): string {
  try {
    return JSON.stringify(record)
  } catch (cause) {
    const message = `Cannot save a training checkpoint as its record must be plain JSON: current value is ${describeValue(record)}`
    throw codedTypeError('ERR_INVALID_ARGUMENT', message, { argument: 'record', cause })
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await makeDirectory(path)
  } catch (cause) {
    const message = `Cannot make the directory of a checkpoint (${(cause as Error).message})`
    throw new CheckpointError('ERR_CHECKPOINT_IO', message, { path, cause })
  }
}

/**
 * The checkpoints that a state file lists, and those that are there all the same: the state file may be lost or damaged. A run that
 * was moved has the paths of its old place, where another run may be: their names count.
 */
async function listedOrThere({ folder, store }: Place, skipped: SkippedCheckpoint[]): Promise<Candidate[]> {
  const prefixes = new Set<string>()
  const prefixOf = (name: string) => (store === undefined ? join(folder, name) : name)
  // After it a data file without an index is one whose index was lost, not one whose save was killed. Saves to stores leave none.
  const isTidy = store === undefined && (await recoverSaves(folder))
  try {
    const state = await readCheckpointState(store ?? folder)
    for (const path of state?.allModelCheckpointPaths ?? []) prefixes.add(prefixOf(nameOf(path)))
  } catch (error) {
    if (!hasErrorCode(error, 'ERR_CHECKPOINT_CORRUPT')) throw error
    const path = store === undefined ? join(folder, 'checkpoint') : `${store.name}/checkpoint`
    skipped.push({ path, code: error.code, message: error.message })
  }
  for (const name of await (store?.names() ?? namesIn(folder))) {
    const match = CHECKPOINT_FILE.exec(name)
    if (match !== null && (isTidy || name.endsWith('.index'))) prefixes.add(prefixOf(match[1]))
  }
  return [...prefixes].map((prefix) => ({ prefix, store }))
}

/** The names of the files of a folder; none if it is missing. */
function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw new CheckpointError('ERR_CHECKPOINT_IO', `Cannot read the directory (${error.message})`, {
      path: folder,
      cause: error,
    })
  })
}

/** The last part of a path, of Windows too. */
function nameOf(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
}

const CHECKPOINT_FILE = new RegExp(`^(${NAME}-\\d+)\\.(?:index|data-\\d{5}-of-\\d{5})$`)

/** The step of `…/model-<step>`. */
function stepOf(prefix: string): number {
  return Number(prefix.slice(prefix.lastIndexOf('-') + 1))
}
