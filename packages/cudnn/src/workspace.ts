import { DeviceBuffer } from './device_buffer.js'
import type { DeviceSession } from './device_session.js'

/** The scratch memory of one executor's calls: one buffer for all, as they run one after another on one stream. */
export class Workspace {
  readonly #session: DeviceSession
  #buffer: DeviceBuffer | undefined

  constructor(session: DeviceSession) {
    this.#session = session
  }

  /** A buffer of at least `bytes`; a larger one is allocated in the batch under construction. */
  atLeast(bytes: number): DeviceBuffer {
    if (this.#buffer === undefined || this.#buffer.bytes < bytes) {
      this.release()
      this.#buffer = new DeviceBuffer(this.#session, bytes)
    }
    return this.#buffer
  }

  /** Forgets the buffer: after a batch failed it may never have been allocated. */
  release(): void {
    this.#buffer?.release()
    this.#buffer = undefined
  }
}
