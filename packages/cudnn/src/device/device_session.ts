import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { FloatDType } from '@cudnn-rnn/ops'
import { MODE } from '../sys/commands.js'
import { cudnnError } from '../sys/cudnn_error.js'
import type { Libraries, NativeAddon, ObjectId, Session, SessionInfo } from '../sys/native_addon.js'
import { CommandList } from './command_list.js'
import { CommandQueue } from './command_queue.js'
import type { BufferHome, DeviceBuffer } from './device_buffer.js'
import { GraphCache, type GraphPolicy } from './graph_cache.js'

/** Device memory is reported to the garbage collector in units of this many bytes. */
const REPORTED_BYTES = 2 ** 20
/**
 * A part of it is reported, for the collector to run when scripts drop tensors without dispose(). V8 collects when what
 * is reported has grown by 64 MiB: with this share, when a sixteenth of the device, or 1 GiB of a device of less than
 * 16 GiB, was allocated. More would make it collect at every step of a large network.
 */
const MOST_REPORTED_BYTES = 2 ** 30
const MOST_EXTERNAL_SHARE = 1 / 16

export interface SessionOptions {
  /** Default `never`. */
  readonly graphs?: GraphPolicy
  /** The element type of kernels; default float32. */
  readonly dtype?: FloatDType
}

/**
 * One device: the command queue of its worker, and its properties. In a step, lists are recorded one after the other
 * and submitted together; any other list is queued after the recorded ones.
 */
export class DeviceSession implements BufferHome {
  readonly native: NativeAddon
  readonly libraries: Libraries
  readonly info: SessionInfo
  /** Index of the GPU. */
  readonly device: number
  /** The queue itself; lists posted to it directly overtake recorded commands. */
  readonly queue: CommandQueue
  readonly #handle: Session
  readonly #exclusive: CommandQueue
  readonly #graphs: GraphCache
  #nextId = 1
  /** The list that is being put together, to be submitted separately. */
  #open: CommandList | undefined
  #step: CommandList | undefined
  #stepsUnderWay = 0
  /** Exclusive sections queued or under way. JavaScript ends them, so it must not block for commands queued after one. */
  #exclusiveSections = 0
  readonly #externalShare: number
  #unreportedBytes = 0
  #isReportScheduled = false
  readonly #submitted: Promise<unknown>[] = []
  #closed: Promise<void> | undefined

  private constructor(
    native: NativeAddon,
    libraries: Libraries,
    handle: Session,
    device: number,
    options: SessionOptions,
  ) {
    const { graphs = 'never', dtype = 'float32' } = options
    this.native = native
    this.libraries = libraries
    this.#handle = handle
    this.device = device
    this.info = native.sessionInfo(handle)
    this.#externalShare = Math.min(MOST_EXTERNAL_SHARE, MOST_REPORTED_BYTES / this.info.totalBytes)
    this.queue = new CommandQueue(native, handle, false)
    this.#exclusive = new CommandQueue(native, handle, true)
    this.#graphs = new GraphCache(this, this.queue, graphs, dtype, this.info.totalBytes)
  }

  /** Opens device number `device`. Rejects with the CudnnError of the call that failed. */
  static async open(
    native: NativeAddon,
    libraries: Libraries,
    device: number,
    options: SessionOptions = {},
  ): Promise<DeviceSession> {
    const { session, opened } = native.openSession(libraries, device)
    try {
      await opened
    } catch (error) {
      await native.closeSession(session)
      throw cudnnError(`open device ${device}`, error)
    }
    return new DeviceSession(native, libraries, session, device, options)
  }

  /** A number for an object of the worker. */
  newId<Id extends ObjectId<string>>(): Id {
    return this.#nextId++ as Id
  }

  /** True in a step, whose calls are recorded. */
  get isRecording(): boolean {
    return this.#stepsUnderWay > 0
  }

  /** Begins a segment of the step in progress, or a separate list. */
  begin(action: string): CommandList {
    if (!this.isRecording) return this.list(action)
    this.#step = this.#step?.segment(action) ?? new CommandList(this, action, true)
    this.queue.isRecording = true
    return this.#step
  }

  /** Begins a separate list, in a step too. */
  list(action: string): CommandList {
    this.#open = new CommandList(this, action)
    return this.#open
  }

  /** Queues a list of {@link begin}. If it fails later, the buffers that it was to write carry the error. */
  post(list: CommandList): void {
    if (!this.records(list) && !list.isEmpty) this.queue.post(list)
  }

  /** Whether `list` is the step under way, which its end submits. */
  records(list: CommandList): boolean {
    return list === this.#step
  }

  /** Like `post`, and as a graph if it recurs; settles once it was issued to the device. */
  async submit(list: CommandList): Promise<void> {
    if (!this.records(list)) await this.#graphs.submit(list)
  }

  /**
   * Queues `list` after the recorded commands. Resolves with the numbers that its commands report, once it was issued.
   */
  run(list: CommandList): Promise<Float64Array> {
    this.flush()
    return this.queue.run(list)
  }

  /** Like `run`, but settles when the device has done the work: downloads are complete then. */
  finish(list: CommandList): Promise<Float64Array> {
    this.flush()
    return this.queue.finish(list)
  }

  /** Like `finish`, and blocks the calling thread until then. Throws as {@link checkCanWait}. */
  finishAndWait(list: CommandList, action: string): void {
    this.checkCanWait(action)
    this.flush()
    this.queue.settleNow(list, { mode: MODE.wait })
  }

  /**
   * Runs `use` at this position of the queue: everything queued later waits until it ends. A call that needs results of
   * the device before it can be queued (a plan, a measurement) therefore keeps its place in the order of calls.
   */
  async runExclusive<Result>(action: string, use: (queue: CommandQueue) => Promise<Result>): Promise<Result> {
    this.flush()
    this.#exclusiveSections++
    try {
      await this.queue.signal(MODE.beginExclusive | MODE.promise, action)
      try {
        return await use(this.#exclusive)
      } finally {
        if (!this.#closed) this.#exclusive.signal(MODE.endExclusive, action)
      }
    } finally {
      this.#exclusiveSections--
    }
  }

  /**
   * Throws RangeError `ERR_EXECUTOR_BUSY` while another call makes the plan of a new shape: that call continues on this
   * thread, so waiting here would be a deadlock.
   */
  checkCanWait(action: string): void {
    if (this.#exclusiveSections === 0) return
    throw codedRangeError(
      'ERR_EXECUTOR_BUSY',
      `Cannot ${action} synchronously as another call of this cudnn executor prepares a new shape: await that call first.`,
    )
  }

  /**
   * Queues `list`, as `submit` does, and `reading`, and blocks the calling thread until the device has done both. After
   * {@link checkCanWait} only.
   */
  submitAndRead(list: CommandList, reading: CommandList, isReplayable: boolean): void {
    this.flush()
    if (isReplayable) this.#graphs.submitAndRead(list, reading)
    else {
      this.queue.submit(list, { mode: MODE.step })
      this.queue.settleNow(reading, { mode: MODE.wait })
    }
  }

  /** Makes a call of NCCL on the streams of `sessions`, after the recorded commands of each; it divides their steps. */
  static callOnStreams(
    sessions: readonly DeviceSession[],
    call: (handles: readonly Session[]) => Promise<void>,
  ): Promise<void> {
    for (const session of sessions) session.flush()
    return call(sessions.map((session) => session.#handle))
  }

  /** Calls are recorded until the matching {@link endStep}. */
  beginStep(): void {
    this.#stepsUnderWay++
  }

  /** Submits the recorded commands; rejects with the first error of the step's calls. */
  async endStep(): Promise<void> {
    if (--this.#stepsUnderWay === 0) this.flush()
    while (this.#submitted.length > 0) for (const submitted of this.#submitted.splice(0)) await submitted
  }

  /** Submits the commands recorded so far. */
  flush(): void {
    const step = this.#step
    if (step === undefined) return
    this.#step = undefined
    this.queue.isRecording = false
    if (step.isEmpty) return
    const submitted = this.#graphs.submit(step)
    submitted.catch(() => {})
    this.#submitted.push(submitted)
  }

  /** Frees released buffers, waits for the device, and returns to it the memory that is cached for reuse. */
  async trimMemory(): Promise<void> {
    this.flush()
    this.queue.flushReleases()
    const list = this.list('trim the memory')
    list.add('trimMemory', {})
    await this.queue.run(list)
  }

  /** Memory that a call allocates and releases itself, such as its work space, is not reported. */
  account(bytes: number): void {
    this.#unreportedBytes += bytes
    if (this.#isReportScheduled || Math.abs(this.#unreportedBytes) < REPORTED_BYTES) return
    this.#isReportScheduled = true
    queueMicrotask(() => this.#reportMemory())
  }

  #reportMemory(): void {
    this.#isReportScheduled = false
    if (Math.abs(this.#unreportedBytes) < REPORTED_BYTES) return
    this.native.adjustExternalMemory(Math.trunc(this.#unreportedBytes * this.#externalShare))
    this.#unreportedBytes = 0
  }

  /** Lets go of a buffer, which is freed after everything that was recorded or queued. */
  release(buffer: DeviceBuffer): void {
    if (this.#open?.release(buffer) || this.#step?.release(buffer)) return
    for (const graph of buffer.graphs ?? []) graph.release()
    this.queue.release(buffer.id)
  }

  /** Destroys an object after everything that was recorded or queued. */
  destroy(...ids: readonly (ObjectId<string> | null | undefined)[]): void {
    for (const id of ids) if (id) this.queue.release(id)
  }

  /**
   * Drops batches that have not begun. Resolves when the others are done and all device memory is freed. Idempotent.
   */
  close(): Promise<void> {
    if (this.#closed) return this.#closed
    this.#graphs.dispose()
    this.queue.close()
    this.#exclusive.close()
    this.#closed = this.native.closeSession(this.#handle) ?? Promise.resolve()
    return this.#closed
  }
}
