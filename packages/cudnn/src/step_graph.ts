import { DTYPES, type FloatDType } from '@cudnn-rnn/backend'
import { DeviceBuffer } from './device_buffer.js'
import type { DeviceSession, Lane } from './device_session.js'
import { makeCall, PlannedBuffer, plannedBuffer } from './gathered_call.js'
import type { Buffer, Graph } from './native_addon.js'
import { PassBuffers } from './pass_buffers.js'
import type { StepLog } from './step_log.js'

/** Graphs of larger steps win nothing, as launching is not what takes their time, and hold much memory. */
const MOST_BYTES = 512 * 2 ** 20

/**
 * The calls of a log as a CUDA graph. Addresses in a graph are fixed: what the calls allocate is memory of the graph;
 * buffers from outside that are the same every time (parameters, optimizer slots) are used where they are; those that
 * change are copied in, and out again where they were written. Scalars are read from memory, which is written before
 * each launch.
 */
export class StepGraph {
  readonly #session: DeviceSession
  readonly #dtype: FloatDType
  readonly #owned = new PassBuffers()
  /** The graph's memory, by index of the planned buffer. */
  readonly #fixed: DeviceBuffer[] = []
  /** The graph's memory for the external buffers that change, by their index. */
  readonly #inputs = new Map<number, DeviceBuffer>()
  #baked: readonly Buffer[] = []
  #scalars: DeviceBuffer | undefined
  #lastScalars: readonly number[] | undefined
  #graph: Graph | undefined

  private constructor(session: DeviceSession, dtype: FloatDType) {
    this.#session = session
    this.#dtype = dtype
  }

  /** External buffers whose addresses are in the graph. */
  get baked(): readonly Buffer[] {
    return this.#baked
  }

  /** Captures the calls of `log`, where the queue is held. Rejects, with nothing left behind, where that fails. */
  static async capture(
    session: DeviceSession,
    lane: Lane,
    log: StepLog,
    { dtype, changing }: { readonly dtype: FloatDType; readonly changing: (external: number) => boolean },
  ): Promise<StepGraph> {
    const made = new StepGraph(session, dtype)
    try {
      await lane.run('capture a step', () => made.#append(log, changing))
      return made
    } catch (error) {
      made.release()
      throw error
    }
  }

  /** Appends a replay of the calls of `log`, whose form is that of the captured ones; fills its buffers. */
  appendReplay(log: StepLog): void {
    const { native, handle } = this.#session
    for (const [index, input] of this.#inputs) {
      native.copy(handle, input.handle, 0, log.externals[index]!, 0, input.bytes)
    }
    this.#sendScalars(log.scalars)
    native.launchGraph(handle, this.#graph!, ...this.#baked)
    for (const [index, input] of this.#inputs) {
      if (log.written.has(index)) native.copy(handle, log.externals[index]!, 0, input.handle, 0, input.bytes)
    }
    for (const buffer of log.planned) {
      if (buffer.isUploaded || buffer.issued === undefined) continue
      const fixed = this.#fixed[buffer.index]!
      native.copy(handle, buffer.issued, 0, fixed.handle, 0, fixed.bytes)
    }
  }

  release(): void {
    if (this.#graph !== undefined) this.#session.releaseGraph(this.#graph)
    this.#graph = undefined
    this.#owned.release()
  }

  #append(log: StepLog, changing: (external: number) => boolean): void {
    const { native, handle } = this.#session
    this.#placeExternals(log, changing)
    this.#placePlanned(log)
    native.beginCapture(handle)
    const resolve = (buffer: Buffer) => this.#place(log, buffer)
    const scalarBytes = DTYPES[this.#dtype].bytes
    for (const { entries } of log.batches) {
      for (const entry of entries) {
        if (entry instanceof PlannedBuffer) continue
        const scalars = this.#scalars && ([this.#scalars.handle, entry.firstScalar * scalarBytes] as const)
        makeCall(native, handle, entry, resolve, scalars)
      }
    }
    this.#graph = this.#session.endCapture()
  }

  #placeExternals(log: StepLog, changing: (external: number) => boolean): void {
    const allocate = (bytes: number) => this.#owned.own(new DeviceBuffer(this.#session, bytes))
    for (const [index, buffer] of log.externals.entries()) {
      if (changing(index)) this.#inputs.set(index, allocate(this.#session.bytesOf(buffer)))
    }
    this.#baked = log.externals.filter((_, index) => !changing(index))
    if (log.scalars.length > 0) this.#scalars = allocate(log.scalars.length * DTYPES[this.#dtype].bytes)
  }

  /** Gives the planned buffers memory; what is released meanwhile serves again, as the order of the calls allows. */
  #placePlanned(log: StepLog): void {
    const free = new Map<number, DeviceBuffer[]>()
    let bytes = 0
    for (const { entries, released } of log.batches) {
      for (const entry of entries) {
        if (!(entry instanceof PlannedBuffer) || entry.isUploaded) continue
        let buffer = free.get(entry.bytes)?.pop()
        if (buffer === undefined) {
          buffer = this.#owned.own(new DeviceBuffer(this.#session, entry.bytes))
          bytes += entry.bytes
        }
        this.#fixed[entry.index] = buffer
      }
      for (const { bytes: size, index } of released) {
        const idle = free.get(size) ?? []
        free.set(size, idle)
        idle.push(this.#fixed[index]!)
      }
    }
    if (bytes > MOST_BYTES) throw new RangeError(`a graph of ${bytes} bytes`)
  }

  #place(log: StepLog, buffer: Buffer): Buffer {
    const planned = plannedBuffer(buffer)
    if (planned !== undefined) return this.#fixed[planned.index]!.handle
    return this.#inputs.get(log.externals.indexOf(buffer))?.handle ?? buffer
  }

  #sendScalars(scalars: readonly number[]): void {
    if (this.#scalars === undefined) return
    if (this.#lastScalars?.every((value, k) => Object.is(value, scalars[k]))) return
    this.#lastScalars = scalars
    const { native, handle } = this.#session
    native.upload(handle, this.#scalars.handle, 0, new DTYPES[this.#dtype].array(scalars))
  }
}
