import type { ObjectId } from '../sys/native_addon.js'

/** Assigns the numbers of buffers and frees the buffers. */
export interface BufferHome {
  /** A number for an object of the worker. */
  newId<Id extends ObjectId<string>>(): Id
  /** Frees `buffer` after everything that was recorded or queued. */
  release(buffer: DeviceBuffer): void
  /** Counts device memory that JavaScript keeps. */
  account(bytes: number): void
}

/**
 * Device memory with a count of owners; the last one's release frees it once the commands that were queued have run.
 */
export class DeviceBuffer {
  /** Its number in the worker. */
  readonly id: number
  readonly bytes: number
  /** The command list that named it last, and its index there. */
  listId = 0
  slot = 0
  /** The graphs that hold its address; they go with it. */
  graphs: Set<{ release(): void }> | undefined
  readonly #home: BufferHome
  #owners = 1

  constructor(home: BufferHome, bytes: number) {
    this.#home = home
    this.id = home.newId()
    this.bytes = bytes
    home.account(bytes)
  }

  /** One more owner. */
  retain(): this {
    this.#owners++
    return this
  }

  /** Ends one ownership; every owner must release once. */
  release(): void {
    if (--this.#owners !== 0) return
    this.#home.account(-this.bytes)
    this.#home.release(this)
  }

  /** Its number, for a caller that frees it. */
  discard(): number {
    this.#home.account(-this.bytes)
    return this.id
  }
}

/** Buffers of one call, all released when it ends; a buffer that outlives the call is retained before. */
export class BufferOwner {
  readonly #owned: DeviceBuffer[] = []

  /** Takes over one share of `buffer`. */
  own<Owned extends DeviceBuffer | undefined>(buffer: Owned): Owned {
    if (buffer !== undefined) this.#owned.push(buffer)
    return buffer
  }

  release(): void {
    const owned = this.#owned
    for (let k = 0; k < owned.length; k++) owned[k].release()
    owned.length = 0
  }
}
