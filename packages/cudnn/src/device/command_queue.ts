import { required } from '@cudnn-rnn/canonical/rules'
import { MODE } from '../sys/commands.js'
import { cudnnError } from '../sys/cudnn_error.js'
import type { Graph, NativeAddon, Session } from '../sys/native_addon.js'
import type { CommandList } from './command_list.js'
import type { DeviceBuffer } from './device_buffer.js'

/** How a list is submitted. */
export interface Submission {
  /** Bits of {@link MODE}. */
  readonly mode?: number
  /** Capture the commands into this graph instead of running them. */
  readonly graph?: Graph
  /** Memory from which the captured kernels read their scalars. */
  readonly scalars?: DeviceBuffer | undefined
  /** Other buffers in the place of the list's own, by slot. */
  readonly buffers?: readonly DeviceBuffer[]
  /** More commands of the same operation follow, so released buffers are not freed yet. */
  readonly isContinued?: boolean
}

/** Numbers before the words: mode, graph, scalars, and four counts (native/cudnn/src/binding/session_binding.cc). */
const HEADER = 7
const NOTHING = new Float64Array(0)

/**
 * The queue that command lists join: in order behind all others, or, in an exclusive section, past those that wait for its end.
 */
export class CommandQueue {
  readonly #native: NativeAddon
  readonly #session: Session
  readonly #mode: number
  readonly #releases: number[] = []
  #message: Float64Array = new Float64Array(1024)
  #isFlushScheduled = false
  #isClosed = false
  /** Some recorded commands are not submitted yet; buffers that they use are not freed. */
  isRecording = false

  constructor(native: NativeAddon, session: Session, isExclusive: boolean) {
    this.#native = native
    this.#session = session
    this.#mode = isExclusive ? MODE.exclusive : 0
  }

  /** Queues `list`. If it fails later, the buffers that it was to write carry the error. */
  post(list: CommandList): void {
    this.submit(list)
  }

  /** Like `post`; settles with the numbers that the commands report once they were issued to the device. */
  run(list: CommandList): Promise<Float64Array> {
    return this.settle(list, { mode: MODE.promise })
  }

  /** Like `run`, but settles when the device has done the work: downloads are complete then. */
  finish(list: CommandList): Promise<Float64Array> {
    return this.settle(list, { mode: MODE.promise | MODE.wait })
  }

  /** Runs `list`, waits for the device and settles with the milliseconds that it took. */
  async time(list: CommandList): Promise<number> {
    const numbers = await this.settle(list, { mode: MODE.promise | MODE.timed })
    return numbers[numbers.length - 1]
  }

  /** Like `submit` of a mode with `MODE.promise`, which alone has a promise. */
  settle(list: CommandList, submission: Submission): Promise<Float64Array> {
    return required(this.submit(list, submission), 'a submission with MODE.promise returns a promise')
  }

  submit(list: CommandList, submission: Submission = {}): Promise<Float64Array> | undefined {
    // Released buffers travel with the last submission of an operation, as the commands before it may use them.
    const isLast = this.#mode === 0 && !this.isRecording && submission.isContinued !== true
    const settled = this.#send(list, submission, isLast ? this.#releases : [])
    if (isLast) this.#releases.length = 0
    return settled?.then(
      (numbers) => numbers ?? NOTHING,
      (error: unknown) => {
        throw failureOf(list, error)
      },
    )
  }

  /**
   * Like `settle`, and blocks the calling thread until then. Deadlocks while an exclusive section is under way, as JavaScript
   * ends it.
   */
  settleNow(list: CommandList, submission: Submission = {}): Float64Array {
    const isLast = this.#mode === 0 && !this.isRecording && submission.isContinued !== true
    const releases = isLast ? this.#releases : []
    const { message, count, sources, targets } = this.#encoded(list, submission, releases)
    try {
      return this.#native.submitAndWait(this.#session, message, count, sources, targets)
    } catch (error) {
      throw failureOf(list, error)
    } finally {
      if (isLast) this.#releases.length = 0
    }
  }

  /** Frees or destroys an object after everything that was queued or recorded. */
  release(id: number): void {
    if (this.#isClosed) return
    this.#releases.push(id)
    if (this.#isFlushScheduled) return
    // It is sent with the next submission, or alone if none follows.
    this.#isFlushScheduled = true
    setImmediate(() => {
      this.#isFlushScheduled = false
      this.flushReleases()
    })
  }

  /** Frees the buffers released so far, without waiting for the next submission. */
  flushReleases(): void {
    if (this.#isClosed || this.isRecording || this.#releases.length === 0) return
    this.#send(undefined, {}, this.#releases.splice(0))
  }

  /** Frees or destroys objects that only this queue's submissions used, after them. */
  releaseNow(ids: readonly number[]): void {
    if (!this.#isClosed) this.#send(undefined, {}, ids)
  }

  /** Later releases are ignored: closing the session frees everything. */
  close(): void {
    this.#isClosed = true
  }

  /** Begins or ends an exclusive section. */
  signal(mode: number, action: string): Promise<unknown> | undefined {
    return this.#send(undefined, { mode }, [])?.catch((error: unknown) => {
      throw cudnnError(action, error)
    })
  }

  #send(
    list: CommandList | undefined,
    submission: Submission,
    releases: readonly number[],
  ): Promise<Float64Array | undefined> | undefined {
    const { message, count, sources, targets } = this.#encoded(list, submission, releases)
    try {
      return this.#native.submit(this.#session, message, count, sources, targets)
    } catch (error) {
      throw cudnnError(list?.actions[0] ?? '', error)
    }
  }

  /** The arguments of a submission. The message is valid until the next one. */
  #encoded(list: CommandList | undefined, submission: Submission, releases: readonly number[]) {
    // The message is copied by the addon before it returns, so one array serves all submissions.
    const mode = (submission.mode ?? 0) | this.#mode
    const { message, count } = messageOf(list, submission, releases, this.#message, mode)
    this.#message = message
    if (list !== undefined) list.isSubmitted = true
    const targets = list !== undefined && list.targets.length > 0 ? list.targets : undefined
    const sources = list !== undefined && list.sources.length > 0 ? list.sources : undefined
    return { message, count, sources, targets }
  }
}

/** The error of the segment of `list` that failed. */
function failureOf(list: CommandList, error: unknown): unknown {
  return cudnnError(list.actions[(error as { readonly segment?: number }).segment ?? 0] ?? '', error)
}

/**
 * The message that native/cudnn/src/binding/session_binding.cc reads, in `room` if it is large enough.
 *
 * @public scripts/testing/real_libraries uses it
 */
export function messageOf(
  list: CommandList | undefined,
  { graph, scalars, buffers }: Submission,
  releases: readonly number[],
  room: Float64Array,
  mode = 0,
): { readonly message: Float64Array; readonly count: number } {
  const words = list?.words ?? []
  const slots = list?.slots ?? []
  const values = list?.scalars ?? []
  const count = HEADER + words.length + slots.length + values.length + releases.length
  const message = room.length < count ? new Float64Array(2 * count) : room
  message[0] = mode
  message[1] = graph ?? 0
  message[2] = scalars?.id ?? 0
  message[3] = words.length
  message[4] = slots.length
  message[5] = values.length
  message[6] = releases.length
  let at = HEADER
  for (const word of words) message[at++] = word
  for (let k = 0; k < slots.length; k++) message[at++] = (buffers?.[k] ?? slots[k].buffer).id
  for (const value of values) message[at++] = value
  for (const id of releases) message[at++] = id
  return { message, count }
}
