import { codedRangeError } from '@cudnn-rnn/canonical'
import { DeviceBuffer } from './device_buffer.js'
import type { DeviceSession } from './device_session.js'
import type { DropoutDescriptor } from './native_addon.js'

/** cuDNN's dropout generator of one network: its states live on the device and advance at every training forward. */
export class DropoutStates {
  readonly #session: DeviceSession
  readonly #rate: number
  readonly #seed: number
  #made: { readonly descriptor: DropoutDescriptor; readonly states: DeviceBuffer } | undefined
  #ready: Promise<unknown> | undefined

  constructor(session: DeviceSession, rate: number, seed: number) {
    this.#session = session
    this.#rate = rate
    this.#seed = seed
  }

  get bytes(): number {
    return this.#session.info.dropoutStatesBytes
  }

  /** Queues the making of the generator, once; a kernel of cuDNN fills it from the seed. */
  make(): void {
    if (this.#made !== undefined) return
    const { native, libraries } = this.#session
    const descriptor = native.dropoutDescriptor(libraries)
    this.#ready = this.#session.run('make the dropout generator', (_, handle) => {
      const states = new DeviceBuffer(this.#session, this.bytes)
      native.setDropoutDescriptor(handle, descriptor, this.#rate, states.handle, this.#seed)
      this.#made = { descriptor, states }
    })
    this.#ready.catch(() => this.dispose())
  }

  /** The descriptor, once cuDNN has set it: a network's descriptor may not be made of an unset one. */
  async descriptor(): Promise<DropoutDescriptor> {
    this.make()
    const { descriptor } = this.#made!
    await this.#ready
    return descriptor
  }

  /** The generator's states, once {@link make} was called. */
  get states(): DeviceBuffer {
    return this.#made!.states
  }

  async save(): Promise<Uint8Array> {
    this.make()
    const bytes = new Uint8Array(this.bytes)
    const { states } = this.#made!
    await this.#session.finish('read the dropout state', (native, handle) =>
      native.download(handle, states.handle, 0, bytes),
    )
    return bytes
  }

  /** Throws RangeError `ERR_DROPOUT_STATE` for bytes that are not of this kind of device. */
  restore(bytes: Uint8Array): void {
    checkDropoutStateLength(bytes, this.bytes)
    this.make()
    const { states } = this.#made!
    const restored = this.#session.run('restore the dropout state', (native, handle) =>
      native.upload(handle, states.handle, 0, bytes),
    )
    // The buffer tells.
    restored.catch(() => {})
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
  if (state.length === expected) return
  throw codedRangeError(
    'ERR_DROPOUT_STATE',
    `Cannot restore the dropout state as it must be the ${expected} bytes that dropoutState() of a cuDNN executor on this kind of GPU gave: current length is ${state.length}`,
    { expected, actual: state.length },
  )
}
