import { link, lstat, open, readFile, rm, writeFile } from 'node:fs/promises'
import { hostname, uptime } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  checkArguments,
  checkOptions,
  FILE_PATH,
  FLAG,
  FUNCTION,
  type OptionsOf,
  optional,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import { removeFile } from '@cudnn-rnn/checkpoint/files'
import { CheckpointError, ioError } from '../errors.js'
import { createOwnerToken, type Owner, ownerState, parseOwnerToken } from './process_identity.js'
import { createFile, isSystemError, removeQuietly, silence, writeAll } from './temporary_file.js'

/** Interval of the holder's touches, for processes that cannot query its operating system. */
const HEARTBEAT = 10_000

/** A lock whose holder cannot be queried is abandoned after so long without a heartbeat. */
const LEASE = 120_000

/** A waiting process gives up if one holder kept the lock for so long. */
const LONGEST_WAIT = 300_000

/** Contents of another holder's lock file. */
interface HeldLock {
  readonly owner: Owner | undefined
  readonly hostname: string
  /** The holder's note of {@link FileLock.note}. */
  readonly notes: string | undefined
}

const OPTIONS = {
  /** Wait while another holds it; default false: reject with `ERR_CHECKPOINT_LOCKED`. */
  wait: optional(FLAG),
  /** Cleans up after a holder that ended without releasing; called before the lock is taken over. */
  recover: optional<(notes: string) => Promise<void>>(FUNCTION),
}

interface FileLockOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * A lock between threads, processes and hosts: a file that exists while it is held.
 *
 * A hard link decides who holds it: like exclusive creation, every file system, NFS included, makes one atomically or
 * refuses, and the file has its content from the first moment on. Its first line states who the holder is (see
 * {@link Owner}). A holder that was killed leaves the file; it is taken over as soon as its thread
 * does not run, or this computer has started again; if that cannot be known, after two minutes without a heartbeat.
 *
 * Taking over must not remove a lock that a third process took meanwhile. So the process that takes over first acquires
 * `<path>.<token of the old holder>`, a lock of the same kind: only its holder may remove the file with that token.
 *
 * @example
 * ```ts
 * import { hasErrorCode } from '@cudnn-rnn/rnn'
 * import { FileLock } from '@cudnn-rnn/rnn/checkpoint'
 *
 * const lock = await FileLock.acquire('run.lock')
 * try {
 *   await FileLock.acquire('run.lock')
 * } catch (error) {
 *   console.log(hasErrorCode(error, 'ERR_CHECKPOINT_LOCKED')) // true
 * }
 * await lock.check()
 * await lock.release()
 * ```
 */
export class FileLock {
  readonly path: string
  readonly #token: string
  readonly #heartbeat: NodeJS.Timeout

  private constructor(path: string, token: string) {
    this.path = path
    this.#token = token
    this.#heartbeat = setInterval(() => void this.#touch().catch(() => undefined), HEARTBEAT).unref()
  }

  /** Writes a byte that is there already, for the time of the file system: the clock of this host may be another. */
  async #touch(): Promise<void> {
    const file = await open(this.path, 'r+')
    try {
      const own = Buffer.from(this.#token)
      const { buffer } = await file.read(Buffer.alloc(own.length), 0, own.length, 0)
      // The lock may be of another holder, who took it over.
      if (own.equals(buffer)) await file.write(own, 0, 1, 0)
    } finally {
      await file.close()
    }
  }

  /**
   * @param path of the lock file; its directory must exist.
   * @throws CheckpointError `ERR_CHECKPOINT_LOCKED`, `ERR_CHECKPOINT_IO`
   */
  static async acquire(path: string, options: FileLockOptions = {}): Promise<FileLock> {
    checkArguments('lock', { path }, { path: FILE_PATH })
    const { wait = false, recover } = checkOptions('lock', options, OPTIONS)
    const token = createOwnerToken()
    const beside = `${path}.${token}.tmp`
    try {
      // Flushed: after a power failure a lock without its content would have to be waited out.
      await createFile(beside, (file) => writeAll(file, new TextEncoder().encode(lockText(token))))
      await waitFor(path, beside, { wait, recover })
    } catch (cause) {
      throw isSystemError(cause) ? ioError('lock', path, cause) : cause
    } finally {
      await removeQuietly(beside)
    }
    return new FileLock(path, token)
  }

  /** Writes a note into the lock; {@link FileLockOptions.recover} receives it if this holder ends without releasing. */
  async note(text: string): Promise<void> {
    checkArguments('note in a lock', { text }, { text: TEXT })
    try {
      const file = await open(this.path, 'r+')
      try {
        await writeAll(file, new TextEncoder().encode(lockText(this.#token, text)))
        await file.sync()
      } finally {
        await file.close()
      }
    } catch (cause) {
      throw isSystemError(cause) ? ioError('lock', this.path, cause) : cause
    }
  }

  /** Throws `ERR_CHECKPOINT_LOCKED` if another took the lock over: after a pause of minutes, a suspended machine. */
  async check(): Promise<void> {
    const held = await readLock(this.path)
    if (held?.owner?.token !== this.#token) throw locked(this.path, held)
  }

  /** Idempotent; never rejects. */
  async release(): Promise<void> {
    clearInterval(this.#heartbeat)
    try {
      const held = await readLock(this.path)
      if (held?.owner?.token !== this.#token) return
      await removeFile(this.path)
    } catch {
      // One more attempt; a lock that cannot be removed must not name this process, which keeps running.
      await rm(this.path, { force: true }).catch(() => writeFile(this.path, '').catch(() => undefined))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }
}

const queues = new Map<string, Promise<unknown>>()

/**
 * Runs `work` while this thread holds the lock. Calls of one thread queue up in order; others wait on the lock itself.
 */
export function withFileLock<Result>(
  path: string,
  recover: FileLockOptions['recover'],
  work: (lock: FileLock) => Promise<Result>,
): Promise<Result> {
  const run = async () => {
    const lock = await FileLock.acquire(path, { wait: true, recover })
    try {
      return await work(lock)
    } finally {
      await lock.release()
    }
  }
  const result = (queues.get(path) ?? Promise.resolve()).then(run)
  const settled = result.then(
    () => undefined,
    () => undefined,
  )
  queues.set(path, settled)
  void settled.then(() => {
    if (queues.get(path) === settled) queues.delete(path)
  })
  return result
}

/** Resolves when the file `beside` has become the lock. */
async function waitFor(path: string, beside: string, { wait, recover }: FileLockOptions): Promise<void> {
  let [holder, since] = ['', performance.now()]
  for (let pause = 1; ; pause = Math.min(2 * pause, 32)) {
    if (await linkLock(beside, path)) return
    const held = await readLock(path)
    if (held === undefined) continue
    if (await isAbandoned(path, held)) {
      await takeOver(path, held, recover)
      continue
    }
    const token = held.owner?.token ?? ''
    if (token !== holder) [holder, since] = [token, performance.now()]
    if (!wait || performance.now() - since > LONGEST_WAIT) throw locked(path, held)
    await sleep(pause * (0.5 + Math.random()))
  }
}

/** False if the lock exists. */
async function linkLock(beside: string, path: string): Promise<boolean> {
  try {
    await link(beside, path)
    return true
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    if (!WITHOUT_LINKS.has(code)) throw error
  }
  // A process that is killed between creation and write leaves a lock without an owner: others wait for its lease.
  const content = await readFile(beside)
  try {
    await createFile(path, (file) => writeAll(file, content))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Error codes of file systems without hard links. */
const WITHOUT_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL'])

function lockText(token: string, notes?: string): string {
  return [token, hostname(), ...(notes === undefined ? [] : [notes]), ''].join('\n')
}

/** Undefined if the file is missing. Throws `ERR_CHECKPOINT_IO` unless it is a regular file. */
async function readLock(path: string): Promise<HeldLock | undefined> {
  try {
    if (!(await lstat(path)).isFile()) {
      throw new CheckpointError('ERR_CHECKPOINT_IO', 'Cannot lock as the lock must be a regular file', { path })
    }
    const lines = (await readFile(path, 'utf8')).split('\n')
    const [token = '', host = '', notes] = lines.slice(0, -1)
    return { owner: parseOwnerToken(token), hostname: host, notes }
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined
    throw error
  }
}

async function isAbandoned(path: string, { owner, hostname: host }: HeldLock): Promise<boolean> {
  const state = owner === undefined ? 'unknown' : ownerState(owner)
  if (state !== 'unknown') return state === 'ended'
  // A holder of this name that was silent since before this computer started ended with its power, or is another computer
  // that missed its heartbeats.
  const longest = host === hostname() ? Math.min(LEASE, 1000 * uptime() + HEARTBEAT) : LEASE
  return (await silence(path)) > longest
}

async function takeOver(path: string, held: HeldLock, recover: FileLockOptions['recover']): Promise<void> {
  const right = `${path}.${held.owner?.token ?? 'unreadable'}`
  const lock = await FileLock.acquire(right, { wait: true })
  try {
    const now = await readLock(path)
    if (now === undefined || now.owner?.token !== held.owner?.token || !(await isAbandoned(path, now))) return
    if (now.notes !== undefined) await recover?.(now.notes)
    await removeFile(path)
  } finally {
    await lock.release()
  }
}

function locked(path: string, held: HeldLock | undefined): CheckpointError {
  const who =
    held?.owner === undefined ? 'another process' : `process ${held.owner.pid} on host ${held.hostname || 'unknown'}`
  const message = `Cannot lock as ${who} holds the lock; if that process does not exist, remove the file`
  return new CheckpointError('ERR_CHECKPOINT_LOCKED', message, { path })
}

/** Removes files that killed processes left while taking over the lock `name`. The caller holds that lock. */
export async function removeAbandonedTakeovers(path: string, names: readonly string[], name: string): Promise<void> {
  for (const each of names) {
    if (!each.startsWith(`${name}.`) || each.endsWith('.tmp')) continue
    const takeover = `${path}${each.slice(name.length)}`
    const held = await readLock(takeover).catch(() => undefined)
    if (held !== undefined && (await isAbandoned(takeover, held))) await removeQuietly(takeover)
  }
}
