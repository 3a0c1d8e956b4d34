import { arrayTypeOf, codedRangeError, liveLength } from '@cudnn-rnn/canonical'
import { cudnnError } from './cudnn_error.js'
import { DeviceBuffer } from './device_buffer.js'
import type { DeviceSession } from './device_session.js'
import type { DropoutDescriptor } from './native_addon.js'

/** A generator whose making is queued. */
export interface DropoutGenerator {
  readonly descriptor: DropoutDescriptor
  readonly states: DeviceBuffer
  /** A network's descriptor may not be made of `descriptor` before. Rejects where the making failed. */
  readonly ready: Promise<unknown>
}

/** cuDNN's dropout generator of one network: its states live on the device and advance at every training forward. */
export class DropoutStates {
  readonly #session: DeviceSession
  readonly #rate: number
  readonly #seed: number
  #made: DropoutGenerator | undefined

  constructor(session: DeviceSession, rate: number, seed: number) {
    this.#session = session
    this.#rate = rate
    this.#seed = seed
  }

  get bytes(): number {
    return this.#session.info.dropoutStatesBytes
  }

  /** Queues the making of the generator, once unless it fails; a kernel of cuDNN fills it from the seed. */
  make(): DropoutGenerator {
    if (this.#made !== undefined) return this.#made
    const descriptor = this.#descriptor()
    let states: DeviceBuffer | undefined
    const ready = this.#session.run('make the dropout generator', (_, handle) => {
      states = new DeviceBuffer(this.#session, this.bytes)
      this.#session.native.setDropoutDescriptor(handle, descriptor, this.#rate, states.handle, this.#seed)
    })
    const made = { descriptor, states: states!, ready }
    this.#made = made
    ready.catch(() => {
      if (this.#made === made) this.dispose()
    })
    return made
  }

  async save(): Promise<Uint8Array> {
    const { states } = this.make()
    const bytes = new Uint8Array(this.bytes)
    await this.#session.finish('read the dropout state', (native, handle) =>
      native.download(handle, states.handle, 0, bytes),
    )
    return bytes
  }

  /** Throws RangeError `ERR_DROPOUT_STATE` for bytes that are not of this kind of device. */
  restore(bytes: Uint8Array): void {
    checkDropoutStateLength(bytes, this.bytes)
    const { states } = this.make()
    const restored = this.#session.run('restore the dropout state', (native, handle) =>
      native.upload(handle, states.handle, 0, bytes),
    )
    // The buffer tells.
    restored.catch(() => {})
  }

  #descriptor(): DropoutDescriptor {
    const { native, libraries } = this.#session
    try {
      return native.dropoutDescriptor(libraries)
    } catch (error) {
      throw cudnnError('make the dropout generator', error)
    }
  }

  dispose(): void {
    if (this.#made === undefined) return
    this.#session.releaseDescriptor(this.#made.descriptor)
    this.#made.states.release()
    this.#made = undefined
  }
}

/** Throws RangeError `ERR_DROPOUT_STATE` unless `state` has `expected` bytes; a network without dropout has none. */
export function checkDropoutStateLength(state: Uint8Array, expected: number): void {
  const actual = arrayTypeOf(state) === 'Uint8Array' ? liveLength(state) : undefined
  if (actual === expected) return
  throw codedRangeError(
    'ERR_DROPOUT_STATE',
    `Cannot restore the dropout state as it must be the ${expected} bytes that dropoutState() of a cuDNN executor on this kind of GPU gave: current length is ${actual}`,
    { expected, actual },
  )
}
