import type { DeviceBuffer } from './device_buffer.js'

/** Buffers made for one call: all are released together when it fails, or those that nobody takes over when it ends. */
export class PassBuffers {
  readonly #made: DeviceBuffer[] = []

  /** Notes `buffer`, of which the caller owns one share. */
  own<Made extends DeviceBuffer | undefined>(buffer: Made): Made {
    if (buffer !== undefined) this.#made.push(buffer)
    return buffer
  }

  /** Releases every share noted; whoever keeps a buffer retains it before. */
  release(): void {
    for (const buffer of this.#made.splice(0)) buffer.release()
  }
}
