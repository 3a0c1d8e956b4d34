import { cudnnError } from './cudnn_error.js'
import type { Buffer, Descriptor, Graph, Libraries, NativeAddon, Session, SessionInfo } from './native_addon.js'

/** Appends commands to the batch under construction. */
export type Append = (native: NativeAddon, session: Session) => void

/** One of the two ways into a device's queue: in order, or past what is held. */
export interface Lane {
  /** Queues what `append` appends, as one batch; what fails later is told by the buffers it was to write. */
  post(append: Append): void
  /** As `post`; settles once the batch was issued to the device, or gathered. `onFailure` is called where that fails. */
  issue(action: string, append: Append, onFailure: () => void): Promise<void>
  /** As `post`; settles with the numbers that the commands reported once the batch was issued to the device. */
  run(action: string, append: Append): Promise<Float64Array>
}

/** A lane past the gatherer. */
export interface DirectLane extends Lane {
  /**
   * For the batches of one step, queued one after another: once one fails the rest is skipped, and whatever did not begin
   * leaves the buffers of others as they were.
   */
  readonly step: { readonly first: Lane; readonly later: Lane }
}

/** Who gathers calls instead of queueing them one by one, and knows what must not be let go of meanwhile. */
export interface Gatherer {
  readonly isGathering: boolean
  append(action: string | undefined, append: Append, onFailure?: () => void): void
  /** Queues what was gathered. */
  flush(): void
  release(buffer: Buffer): void
  releaseDescriptor(descriptor: Descriptor): void
}

const URGENT = 1
const HOLD = 2
const RELEASE = 4
const WAIT = 8
const PROMISE = 16
const FIRST_OF_STEP = 32
const OF_STEP = 64

/**
 * One device: its worker thread's queue, and what the device said of itself. While there is a gatherer at work, what is
 * posted or issued goes to it; everything else is queued behind what was gathered.
 */
export class DeviceSession implements Lane {
  readonly libraries: Libraries
  readonly handle: Session
  readonly info: SessionInfo
  /** Past the gatherer. */
  readonly direct: DirectLane
  gatherer: Gatherer | undefined
  readonly #addon: NativeAddon
  readonly #urgent: DirectLane
  readonly #bytes = new WeakMap<Buffer, number>()
  readonly #graphs = new Set<Graph>()
  #appendingTo: NativeAddon
  #closed: Promise<void> | undefined

  private constructor(native: NativeAddon, libraries: Libraries, handle: Session) {
    this.#addon = native
    this.#appendingTo = native
    this.libraries = libraries
    this.handle = handle
    this.info = native.sessionInfo(handle)
    this.direct = this.#directLane(0)
    this.#urgent = this.#directLane(URGENT)
  }

  /** The addon, or what takes its place while calls are gathered. */
  get native(): NativeAddon {
    return this.#appendingTo
  }

  get isGathering(): boolean {
    return this.gatherer?.isGathering ?? false
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

  /** What is posted calls only the functions that can be gathered. */
  post(append: Append): void {
    if (this.isGathering) this.gatherer!.append(undefined, append)
    else this.direct.post(append)
  }

  /** As {@link post}. */
  async issue(action: string, append: Append, onFailure: () => void): Promise<void> {
    if (this.isGathering) this.gatherer!.append(action, append, onFailure)
    else await this.direct.issue(action, append, onFailure)
  }

  /** The queue behind what was gathered, for what must not be gathered. */
  ungathered(): Lane {
    this.gatherer?.flush()
    return this.direct
  }

  run(action: string, append: Append): Promise<Float64Array> {
    this.gatherer?.flush()
    return this.direct.run(action, append)
  }

  /** As `run`, but settles when the device has done the work: downloads are complete then. */
  finish(action: string, append: Append): Promise<Float64Array> {
    this.gatherer?.flush()
    return this.#send(append, PROMISE | WAIT, action)!
  }

  /**
   * Runs `use` at this place of the queue: everything queued later waits until it is over. So what must be asked of the
   * device before a call can be queued does not change the order of calls.
   */
  async hold<Result>(action: string, use: (urgent: DirectLane) => Promise<Result>): Promise<Result> {
    this.gatherer?.flush()
    await this.#send(() => {}, HOLD | PROMISE, action)
    try {
      return await use(this.#urgent)
    } finally {
      if (!this.#closed) this.#send(() => {}, URGENT | RELEASE)
    }
  }

  /** Appends an allocation to the batch under construction. */
  allocate(bytes: number): Buffer {
    const buffer = this.native.allocate(this.handle, bytes)
    this.#bytes.set(buffer, bytes)
    return buffer
  }

  /** The size of a buffer that {@link allocate} gave. */
  bytesOf(buffer: Buffer): number {
    return this.#bytes.get(buffer)!
  }

  /** Lets go of a buffer, which is freed once nothing queued uses it. */
  release(buffer: Buffer): void {
    if (this.gatherer === undefined) this.native.release(buffer)
    else this.gatherer.release(buffer)
  }

  /** Lets go of a descriptor, which is destroyed once nothing queued uses it. */
  releaseDescriptor(descriptor: Descriptor): void {
    if (this.gatherer === undefined) this.native.releaseDescriptor(descriptor)
    else this.gatherer.releaseDescriptor(descriptor)
  }

  /** Appends the end of a capture to the batch under construction. */
  endCapture(): Graph {
    const graph = this.native.endCapture(this.handle)
    this.#graphs.add(graph)
    return graph
  }

  /** Lets go of a graph, which is destroyed once nothing queued uses it. */
  releaseGraph(graph: Graph): void {
    this.#graphs.delete(graph)
    this.native.releaseGraph(graph)
  }

  /** Has `append` call `target` in the addon's place. */
  appendTo(target: NativeAddon, append: Append): void {
    const before = this.#appendingTo
    this.#appendingTo = target
    try {
      append(target, this.handle)
    } finally {
      this.#appendingTo = before
    }
  }

  /** Drops what was not begun; resolves when what was is done and the device has all memory back. Idempotent. */
  close(): Promise<void> {
    if (this.#closed) return this.#closed
    for (const graph of this.#graphs) this.releaseGraph(graph)
    this.#closed = this.#addon.closeSession(this.handle) ?? Promise.resolve()
    return this.#closed
  }

  #directLane(mode: number): DirectLane {
    return {
      ...this.#lane(mode),
      step: { first: this.#lane(mode | FIRST_OF_STEP), later: this.#lane(mode | OF_STEP) },
    }
  }

  #lane(mode: number): Lane {
    const run: Lane['run'] = (action, append) => this.#send(append, mode | PROMISE, action)!
    return {
      post: (append) => void this.#send(append, mode),
      run,
      async issue(action, append, onFailure) {
        try {
          await run(action, append)
        } catch (error) {
          onFailure()
          throw error
        }
      },
    }
  }

  #send(append: Append, mode: number, action = ''): Promise<Float64Array> | undefined {
    const native = this.#addon
    const { handle } = this
    let settled: Promise<Float64Array> | undefined
    try {
      this.appendTo(native, append)
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
