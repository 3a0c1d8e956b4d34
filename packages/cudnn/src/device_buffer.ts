import type { DeviceSession } from './device_session.js'
import { issuedBuffer } from './gathered_call.js'
import type { Buffer } from './native_addon.js'

/** Of a device byte, how much the garbage collector is told: enough to make it look at what scripts drop, not more. */
const EXTERNAL_SHARE = 1 / 16

/** Device memory with a count of owners; the last one's release frees it once nothing queued uses it. */
export class DeviceBuffer {
  readonly bytes: number
  readonly #handle: Buffer
  readonly #session: DeviceSession
  #owners = 1

  /** Appends the allocation to the batch under construction. */
  constructor(session: DeviceSession, bytes: number) {
    this.#session = session
    this.bytes = bytes
    this.#handle = session.allocate(bytes)
    session.native.adjustExternalMemory(Math.ceil(bytes * EXTERNAL_SHARE))
  }

  /** As the addon knows the buffer, or as what is gathered does before it is issued: not to be kept. */
  get handle(): Buffer {
    return issuedBuffer(this.#handle)
  }

  retain(): this {
    this.#owners++
    return this
  }

  release(): void {
    if (--this.#owners !== 0) return
    this.#session.release(this.#handle)
    this.#session.native.adjustExternalMemory(-Math.ceil(this.bytes * EXTERNAL_SHARE))
  }
}
