import { arrayTypeOf, codedRangeError, liveLength } from '@cudnn-rnn/canonical/rules'
import type { DeviceBuffer } from '../device/device_buffer.js'
import type { DeviceSession } from '../device/device_session.js'
import type { DropoutDescriptor } from '../sys/native_addon.js'

/** A generator; the commands that make it are queued. */
export interface DropoutGenerator {
  readonly descriptor: DropoutDescriptor
  readonly states: DeviceBuffer
  /** A network's descriptor must not use `descriptor` before. Rejects if the generator could not be made. */
  readonly ready: Promise<unknown>
}

/** cuDNN's dropout generator of one network: its states are on the device and advance at every training forward. */
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

  /** Size of the states, from cudnnDropoutGetStatesSize; it depends on the GPU. */
  get bytes(): number {
    return this.#session.info.dropoutStatesBytes
  }

  /** Queues the commands that make the generator, once unless they fail; a kernel of cuDNN fills it from the seed. */
  make(): DropoutGenerator {
    if (this.#made !== undefined) return this.#made
    const list = this.#session.list('make the dropout generator')
    const descriptor = this.#session.newId<DropoutDescriptor>()
    const states = list.allocate(this.bytes)
    list.add('setDropoutDescriptor', { descriptor, rate: this.#rate, states, seed: this.#seed })
    const ready = this.#session.run(list)
    const made = { descriptor, states, ready }
    // Before the commands have run: later passes are queued after them.
    this.#made = made
    ready.catch(() => {
      if (this.#made === made) this.dispose()
    })
    return made
  }

  /** The states after all training forwards queued before. */
  async save(): Promise<Uint8Array> {
    const { states } = this.make()
    const bytes = new Uint8Array(this.bytes)
    const list = this.#session.list('read the dropout state')
    list.add('download', { from: states, offset: 0, to: bytes })
    await this.#session.finish(list)
    return bytes
  }

  /** Throws RangeError `ERR_DROPOUT_STATE` for bytes that are not of this kind of device. */
  restore(bytes: Uint8Array): void {
    checkDropoutStateLength(bytes, this.bytes)
    const { states } = this.make()
    const list = this.#session.list('restore the dropout state')
    list.upload(states, bytes)
    // If it fails the buffer carries the error.
    this.#session.run(list).catch(() => {})
  }

  /** Idempotent. Freed after the commands queued so far. */
  dispose(): void {
    if (this.#made === undefined) return
    this.#session.destroy(this.#made.descriptor)
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
