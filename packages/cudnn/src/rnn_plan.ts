import { hiddenColumns, numPseudoLayers, outputSize, type RnnDescriptor } from '@cudnn-rnn/canonical'
import type { RnnPassSizes } from '@cudnn-rnn/executor-kit'
import { type Algorithm, FORWARD_MODE, SEQ_MAJOR_UNPACKED } from './cudnn_enums.js'
import { DeviceBuffer } from './device_buffer.js'
import type { DeviceSession, Lane } from './device_session.js'
import type { DataDescriptor, Descriptor, RnnDescriptorHandle, TensorDescriptor } from './native_addon.js'
import type { Arithmetic } from './precision.js'

/** What a plan is made of. */
export interface PlanParts {
  readonly sizes: RnnPassSizes
  readonly training: boolean
  readonly algorithm: Algorithm
  readonly rnn: RnnDescriptorHandle
  readonly descriptors: PassDescriptors
  readonly lengths: DeviceLengths
  readonly workspaceBytes: number
  /** 0 in inference. */
  readonly reserveBytes: number
  /** False where a graph of these passes would repeat what each call draws anew. */
  readonly isReplayable: boolean
}

/**
 * Everything about passes of one shape that does not depend on values: descriptors, lengths on the device, sizes. A tape
 * keeps its plan alive after the cache has dropped it.
 */
export class RnnPlan implements PlanParts {
  readonly sizes: RnnPassSizes
  readonly training: boolean
  readonly algorithm: Algorithm
  readonly rnn: RnnDescriptorHandle
  readonly descriptors: PassDescriptors
  readonly lengths: DeviceLengths
  readonly workspaceBytes: number
  readonly reserveBytes: number
  readonly isReplayable: boolean
  readonly #session: DeviceSession
  #owners = 1
  #onRelease: (() => void) | undefined

  constructor(session: DeviceSession, parts: PlanParts) {
    this.#session = session
    this.sizes = parts.sizes
    this.training = parts.training
    this.algorithm = parts.algorithm
    this.rnn = parts.rnn
    this.descriptors = parts.descriptors
    this.lengths = parts.lengths
    this.workspaceBytes = parts.workspaceBytes
    this.reserveBytes = parts.reserveBytes
    this.isReplayable = parts.isReplayable
  }

  /** What to let go of together with the plan. */
  set onRelease(release: () => void) {
    this.#onRelease = release
  }

  retain(): this {
    this.#owners++
    return this
  }

  release(): void {
    if (--this.#owners !== 0) return
    this.#onRelease?.()
    this.lengths.release()
    releaseDescriptors(this.#session, this.descriptors)
  }
}

/** The descriptors of a pass's sequences and states. */
export interface PassDescriptors {
  readonly x: DataDescriptor
  readonly y: DataDescriptor
  readonly h: TensorDescriptor
  readonly c: TensorDescriptor | null
}

/** Makes them; a native error tells what cuDNN refused, and nothing is left behind then. */
export function passDescriptors(
  session: DeviceSession,
  arithmetic: Arithmetic,
  network: RnnDescriptor,
  { time, batch, sequenceLengths }: RnnPassSizes,
): PassDescriptors {
  const { native, libraries } = session
  const { dataType } = arithmetic
  const lengths = cudnnLengths(time, batch, sequenceLengths)
  const layers = numPseudoLayers(network)
  const made: Descriptor[] = []
  const noted = <Made extends Descriptor>(descriptor: Made) => {
    made.push(descriptor)
    return descriptor
  }
  const data = (columns: number) =>
    noted(native.dataDescriptor(libraries, dataType, SEQ_MAJOR_UNPACKED, time, batch, columns, lengths))
  const states = (columns: number) => noted(native.tensorDescriptor(libraries, dataType, layers, batch, columns))
  try {
    return {
      x: data(network.inputSize),
      y: data(outputSize(network)),
      h: states(hiddenColumns(network)),
      c: network.cellMode === 'lstm' ? states(network.numUnits) : null,
    }
  } catch (error) {
    for (const descriptor of made) session.releaseDescriptor(descriptor)
    throw error
  }
}

/** Lets go of descriptors; cuDNN destroys them once nothing queued uses them. */
export function releaseDescriptors(session: DeviceSession, { x, y, h, c }: PassDescriptors): void {
  for (const descriptor of [x, y, h, c]) if (descriptor !== null) session.releaseDescriptor(descriptor)
}

/** From this release on devSeqLengths should be NULL, as NVIDIA's documentation of cudnnRNNForward says. */
const FIRST_WITHOUT_DEVICE_LENGTHS = 8901

/**
 * Sequence lengths on the device.
 *
 * Note [Empty rows]. cuDNN's treatment of rows of length 0 is not documented and failed for others, so it is shown
 * length 1 for them, and what it computes is put right around it: their input, output and gradients are set to 0, and
 * their states pass through.
 */
export class DeviceLengths {
  /** As cuDNN gets them, at least 1; undefined from cuDNN 8.9.1 on, which takes those of the descriptors. */
  readonly shown: DeviceBuffer | undefined
  /** The real ones; undefined where every row has T steps. */
  readonly real: DeviceBuffer | undefined
  readonly hasEmptyRows: boolean

  /** Appends the uploads to the batch under construction. */
  constructor(session: DeviceSession, { time, batch, sequenceLengths }: RnnPassSizes) {
    const { native, handle, info } = session
    const upload = (lengths: Int32Array) => {
      const buffer = new DeviceBuffer(session, lengths.byteLength)
      native.upload(handle, buffer.handle, 0, lengths)
      return buffer
    }
    const isRead = info.cudnnVersion < FIRST_WITHOUT_DEVICE_LENGTHS
    this.shown = isRead ? upload(cudnnLengths(time, batch, sequenceLengths)) : undefined
    this.real = sequenceLengths === null ? undefined : upload(sequenceLengths)
    this.hasEmptyRows = sequenceLengths?.includes(0) ?? false
  }

  release(): void {
    this.shown?.release()
    this.real?.release()
  }
}

function cudnnLengths(time: number, batch: number, lengths: Int32Array | null): Int32Array {
  return lengths === null ? new Int32Array(batch).fill(time) : lengths.map((length) => Math.max(1, length))
}

export interface TempSpace {
  readonly workspaceBytes: number
  /** 0 in inference. */
  readonly reserveBytes: number
}

/** Bytes of workspace and reserve that cuDNN wants for a pass. Rows of unequal length never want more than full ones. */
export async function tempSpaceSizes(
  lane: Lane,
  rnn: RnnDescriptorHandle,
  training: boolean,
  x: DataDescriptor,
): Promise<TempSpace> {
  const mode = training ? FORWARD_MODE.training : FORWARD_MODE.inference
  const [workspaceBytes, reserveBytes] = await lane.run('size the workspace', (native, session) =>
    native.tempSpaceSizes(session, rnn, mode, x),
  )
  return { workspaceBytes: workspaceBytes!, reserveBytes: reserveBytes! }
}

/** Plans by shape, the least recently used dropped first. */
export class PlanCache {
  readonly #plans = new Map<string, RnnPlan>()
  readonly #capacity: number

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  static key({ time, batch, sequenceLengths }: RnnPassSizes, training: boolean): string {
    return `${training ? 'training' : 'inference'} ${time} ${batch} ${sequenceLengths ?? 'full'}`
  }

  get(key: string): RnnPlan | undefined {
    const plan = this.#plans.get(key)
    if (plan === undefined) return undefined
    this.#plans.delete(key)
    this.#plans.set(key, plan)
    return plan
  }

  set(key: string, plan: RnnPlan): void {
    this.#plans.set(key, plan)
    if (this.#plans.size <= this.#capacity) return
    const [oldest] = this.#plans.keys()
    this.#drop(oldest!)
  }

  clear(): void {
    for (const key of [...this.#plans.keys()]) this.#drop(key)
  }

  /** Drops `plan`, if it is still the one of `key`. */
  remove(key: string, plan: RnnPlan): void {
    if (this.#plans.get(key) === plan) this.#drop(key)
  }

  #drop(key: string): void {
    this.#plans.get(key)!.release()
    this.#plans.delete(key)
  }
}
