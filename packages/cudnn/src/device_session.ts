import { cudnnError } from './cudnn_error.js'
import type { Libraries, NativeAddon, Session, SessionInfo } from './native_addon.js'

/** Appends commands to the batch under construction. */
export type Append = (native: NativeAddon, session: Session) => void

/** One of the two ways into a device's queue: in order, or past what is held. */
export interface Lane {
  /** Queues what `append` appends, as one batch; what fails later is told by the buffers it was to write. */
  post(append: Append): void
  /** As `post`; settles with the numbers that the commands reported once the batch was issued to the device. */
  run(action: string, append: Append): Promise<Float64Array>
}

const URGENT = 1
const HOLD = 2
const RELEASE = 4
const WAIT = 8
const PROMISE = 16

/** One device: its worker thread's queue, and what the device said of itself. */
export class DeviceSession implements Lane {
  readonly native: NativeAddon
  readonly libraries: Libraries
  readonly handle: Session
  readonly info: SessionInfo
  readonly #urgent: Lane
  #closed: Promise<void> | undefined

  private constructor(native: NativeAddon, libraries: Libraries, handle: Session) {
    this.native = native
    this.libraries = libraries
    this.handle = handle
    this.info = native.sessionInfo(handle)
    this.#urgent = {
      post: (append) => void this.#send(append, URGENT),
      run: (action, append) => this.#send(append, URGENT | PROMISE, action)!,
    }
  }

  /** Opens device number `device`. Rejects with the CudnnError of the call that failed. */
  static async open(native: NativeAddon, libraries: Libraries, device: number): Promise<DeviceSession> {
    const { session, opened } = native.openSession(libraries, device)
    try {
      await opened
    } catch (error) {
      await native.closeSession(session)
      throw cudnnError(`open device ${device}`, error)
    }
    return new DeviceSession(native, libraries, session)
  }

  post(append: Append): void {
    this.#send(append, 0)
  }

  run(action: string, append: Append): Promise<Float64Array> {
    return this.#send(append, PROMISE, action)!
  }

  /** As `run`, but settles when the device has done the work: downloads are complete then. */
  finish(action: string, append: Append): Promise<Float64Array> {
    return this.#send(append, PROMISE | WAIT, action)!
  }

  /**
   * Runs `use` at this place of the queue: everything queued later waits until it is over. So what must be asked of the
   * device before a call can be queued does not change the order of calls.
   */
  async hold<Result>(action: string, use: (urgent: Lane) => Promise<Result>): Promise<Result> {
    await this.#send(() => {}, HOLD | PROMISE, action)
    try {
      return await use(this.#urgent)
    } finally {
      if (!this.#closed) this.#send(() => {}, URGENT | RELEASE)
    }
  }

  /** Drops what was not begun; resolves when what was is done and the device has all memory back. Idempotent. */
  close(): Promise<void> {
    if (this.#closed) return this.#closed
    this.#closed = this.native.closeSession(this.handle) ?? Promise.resolve()
    return this.#closed
  }

  #send(append: Append, mode: number, action = ''): Promise<Float64Array> | undefined {
    const { native, handle } = this
    let settled: Promise<Float64Array> | undefined
    try {
      append(native, handle)
      settled = native.post(handle, mode)
    } catch (error) {
      if (!this.#closed) native.discard(handle)
      throw cudnnError(action, error)
    }
    return settled?.catch((error: unknown) => {
      throw cudnnError(action, error)
    })
  }
}
