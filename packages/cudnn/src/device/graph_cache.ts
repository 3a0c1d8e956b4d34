import type { FloatDType } from '@cudnn-rnn/ops'
import { MODE } from '../sys/commands.js'
import { CapturedGraph } from './captured_graph.js'
import type { CommandList, Slot } from './command_list.js'
import type { CommandQueue } from './command_queue.js'
import type { BufferHome, DeviceBuffer } from './device_buffer.js'

/** Times of each way that are compared; the minimum counts, as disturbances only add time. */
const SAMPLES = 3

/** Whether a graph is faster than the calls that it was made of. */
export class GraphTrial {
  readonly #milliseconds: Record<'calls' | 'graph', number[]> = { calls: [], graph: [] }

  /** True while this way should be timed. */
  awaits(way: 'calls' | 'graph'): boolean {
    return this.#milliseconds[way].length < SAMPLES
  }

  /** Adds one measured time. */
  note(way: 'calls' | 'graph', milliseconds: number): void {
    this.#milliseconds[way].push(milliseconds)
  }

  /** True once the graph has proved slower. */
  get isLost(): boolean {
    const { calls, graph } = this.#milliseconds
    return calls.length > 0 && !this.awaits('graph') && Math.min(...graph) > Math.min(...calls)
  }
}

/** Whether recurring command lists are replayed as CUDA graphs: if that proves faster, or regardless. */
export type GraphPolicy = 'measured' | 'always' | 'never'

/** Times that a list is submitted before it is captured: the first makes plans, the second shows which buffers change. */
const WARM_UPS = 2
/** Captures of one signature, each because a buffer changed that had not, until it is left to calls. */
const MOST_CAPTURES = 4
/** Captures of one signature that may fail: another executor that synchronizes the device meanwhile is a reason. */
const MOST_FAILED_CAPTURES = 3
/**
 * A graph holds the memory of its commands, so larger ones are left to calls, on a large device graphs of more than a 64th
 * of it. Training steps of LSTM H 1024 B 256 in bfloat16 took 1.5 times as long on an H200 as PyTorch's graph, as calls.
 */
const MOST_GRAPH_BYTES = 512 * 2 ** 20
const MOST_GRAPH_SHARE = 1 / 64
/** All graphs together hold twice as much. */
const GRAPHS_OF_MOST_BYTES = 2
/** Signatures that are remembered; ragged batches make a new one for every set of lengths. */
const MOST_ENTRIES = 64

/**
 * Repeated command lists as CUDA graphs: one launch replaces hundreds, which dominate the time of small passes. The key
 * is the *signature* of a list: the list without the identities of external buffers and the values of scalars. Every
 * list is compared; callers need not repeat one.
 */
export class GraphCache {
  readonly #home: BufferHome
  readonly #queue: CommandQueue
  readonly #policy: GraphPolicy
  readonly #dtype: FloatDType
  readonly #mostGraphBytes: number
  /** The most recently used last. */
  readonly #entries: CacheEntry[] = []

  constructor(home: BufferHome, queue: CommandQueue, policy: GraphPolicy, dtype: FloatDType, deviceBytes: number) {
    this.#mostGraphBytes = Math.max(MOST_GRAPH_BYTES, deviceBytes * MOST_GRAPH_SHARE)
    this.#home = home
    this.#queue = queue
    this.#policy = policy
    this.#dtype = dtype
  }

  /** Queues `list`, in one way or another; settles once it was issued to the device. */
  submit(list: CommandList): Promise<unknown> {
    if (this.#policy === 'never') return this.#queue.settle(list, { mode: MODE.promise | MODE.step })
    // Comparing a list with the cached signatures costs microseconds; most steps match the most recent one.
    const entry = this.#entryOf(list)
    const next = entry.next(list)
    if (next === 'capture') return this.#capture(entry, list)
    return this.#issue(entry, list, next === 'issue' ? undefined : next)
  }

  /**
   * Like `submit`, then runs `reading`, and blocks the calling thread until the device has done both. `reading` names the
   * buffers that `list` wrote, so it fails with what `list` met.
   */
  submitAndRead(list: CommandList, reading: CommandList): void {
    const queue = this.#queue
    if (this.#policy === 'never') {
      queue.submit(list, { mode: MODE.step })
      queue.settleNow(reading, { mode: MODE.wait })
      return
    }
    const entry = this.#entryOf(list)
    const next = entry.next(list)
    const graph = next === 'capture' ? this.#captureNow(entry, list) : next === 'issue' ? undefined : next
    try {
      this.#submitNow(entry, graph?.launchOf(list) ?? list, graph === undefined ? 'calls' : 'graph')
      queue.settleNow(reading, { mode: MODE.wait })
    } catch (error) {
      if (graph !== undefined) entry.refuse()
      throw error
    }
  }

  dispose(): void {
    for (const entry of this.#entries.splice(0)) entry.drop()
  }

  #entryOf(list: CommandList): CacheEntry {
    const entries = this.#entries
    // From the most recent back.
    let index = entries.length - 1
    while (index >= 0 && !entries[index].fits(list)) index--
    if (index >= 0 && index === entries.length - 1) return entries[index]
    const [entry] = index < 0 ? [new CacheEntry(list, this.#policy === 'measured')] : entries.splice(index, 1)
    entries.push(entry)
    if (entries.length > MOST_ENTRIES) entries.shift()?.drop()
    return entry
  }

  /** Queues the calls of `list`, or a launch of its graph. */
  async #issue(entry: CacheEntry, list: CommandList, graph?: CapturedGraph): Promise<void> {
    const way = graph === undefined ? 'calls' : 'graph'
    // A trial times the first few runs of each kind, by events of the device.
    const trial = entry.trialOf(way)
    const mode = MODE.promise | modeOf(way) | (trial ? MODE.timed : 0)
    try {
      const numbers = await this.#queue.settle(graph?.launchOf(list) ?? list, { mode })
      if (trial) entry.timed(trial, way, numbers[numbers.length - 1])
    } catch (error) {
      if (graph !== undefined) entry.refuse()
      throw error
    }
  }

  /** Makes the graph of a list, and queues the allocation of its memory; undefined if it is too large. */
  #graphOf(entry: CacheEntry, list: CommandList): CapturedGraph | undefined {
    const graph = new CapturedGraph(this.#home, this.#queue, list, entry.changing, this.#dtype)
    if (graph.bytes > this.#mostGraphBytes) {
      entry.refuse()
      return undefined
    }
    this.#makeRoom(graph.bytes)
    entry.graph = graph
    this.#queue.submit(graph.memory, { isContinued: true })
    return graph
  }

  /** Captures and launches; if the capture fails the worker runs the commands instead. */
  async #capture(entry: CacheEntry, list: CommandList): Promise<void> {
    // All lists of the capture are queued together, each with its condition: the worker decides by the capture's
    // outcome, and this thread does not wait.
    const graph = this.#graphOf(entry, list)
    if (graph === undefined) return this.#issue(entry, list)
    const launch = graph.launchOf(list)
    const { id, scalars, buffers } = graph
    const captured = this.#queue.settle(list, {
      ...{ mode: MODE.promise, graph: id, scalars, buffers, isContinued: true },
    })
    this.#queue.submit(graph.disposal, { mode: MODE.unlessCaptured, isContinued: true })
    const launched = this.#queue.settle(launch, { mode: MODE.promise | MODE.ifCaptured, isContinued: true })
    const issued = this.#queue.settle(list, { mode: MODE.promise | MODE.step | MODE.unlessCaptured })
    captured.then(
      () => entry.captured(graph),
      () => entry.captureFailed(graph),
    )
    launched.catch(() => entry.refuse())
    await Promise.all([launched, issued])
  }

  /** Queues the calls of a list or the launch of a graph; waits for the device if it is timed. */
  #submitNow(entry: CacheEntry, list: CommandList, way: 'calls' | 'graph'): void {
    const mode = modeOf(way)
    const trial = entry.trialOf(way)
    if (trial === undefined) {
      this.#queue.submit(list, { mode })
      return
    }
    const numbers = this.#queue.settleNow(list, { mode: mode | MODE.timed })
    entry.timed(trial, way, numbers[numbers.length - 1])
  }

  /** The graph of a list; undefined if it cannot be captured, and is left to calls. */
  #captureNow(entry: CacheEntry, list: CommandList): CapturedGraph | undefined {
    const graph = this.#graphOf(entry, list)
    if (graph === undefined) return undefined
    const { id, scalars, buffers } = graph
    try {
      this.#queue.settleNow(list, { graph: id, scalars, buffers, isContinued: true })
    } catch {
      // The worker runs the commands instead, as in #capture, and they report what else is wrong.
      this.#queue.submit(graph.disposal, { isContinued: true })
      entry.captureFailed(graph)
      return undefined
    }
    entry.captured(graph)
    return graph
  }

  /** Drops graphs of the least recently used signatures until `bytes` more fit. */
  #makeRoom(bytes: number): void {
    const held = this.#entries.flatMap((entry) =>
      entry.graph === undefined ? [] : [{ entry, graphBytes: entry.graph.bytes }],
    )
    let sum = held.reduce((total, { graphBytes }) => total + graphBytes, bytes)
    for (const { entry, graphBytes } of held) {
      if (sum <= GRAPHS_OF_MOST_BYTES * this.#mostGraphBytes) return
      sum -= graphBytes
      entry.drop()
    }
  }
}

/** One signature: how often it was submitted, which buffers were the same every time, and its graph. */
class CacheEntry {
  /** Slots of buffers from outside that were others before. */
  readonly changing = new Set<number>()
  graph: CapturedGraph | undefined
  readonly #trial: GraphTrial | undefined
  readonly #words: readonly number[]
  readonly #slotKeys: readonly number[]
  /** The buffers from outside that the last list named, by slot. */
  readonly #outside: (DeviceBuffer | undefined)[]
  #seen = 0
  #captures = 0
  #failures = 0
  #isRefused = false

  constructor(list: CommandList, isMeasured: boolean) {
    this.#trial = isMeasured ? new GraphTrial() : undefined
    this.#words = list.words
    this.#outside = list.slots.map(({ buffer, isAllocated }) => (isAllocated ? undefined : buffer))
    this.#slotKeys = list.slots.map(slotKey)
  }

  /** Whether `list` has this signature: equal words, and slots that agree in size and use. */
  fits({ words, slots }: CommandList): boolean {
    const mine = this.#words
    const keys = this.#slotKeys
    if (words.length !== mine.length || slots.length !== keys.length) return false
    for (let k = 0; k < words.length; k++) if (words[k] !== mine[k]) return false
    for (let k = 0; k < slots.length; k++) if (slotKey(slots[k]) !== keys[k]) return false
    return true
  }

  /** What to do with a list that fits, or the graph that replays it; notes which buffers changed. */
  next({ slots }: CommandList): 'issue' | 'capture' | CapturedGraph {
    let isNew = false
    for (let k = 0; k < slots.length; k++) {
      const { buffer, isAllocated } = slots[k]
      if (isAllocated || buffer === this.#outside[k]) continue
      this.#outside[k] = buffer
      if (this.changing.has(k)) continue
      this.changing.add(k)
      isNew = true
    }
    this.#seen++
    // The graph holds the old buffer's address. The next capture copies this slot in and out.
    if (isNew) this.drop()
    if (this.graph !== undefined) return this.graph.isReady ? this.graph : 'issue'
    return !this.#isRefused && this.#seen > WARM_UPS && this.#captures < MOST_CAPTURES ? 'capture' : 'issue'
  }

  /** The worker has made the graph; from the next list on it is replayed. */
  captured(graph: CapturedGraph): void {
    this.#captures++
    graph.isReady = true
  }

  captureFailed(graph: CapturedGraph): void {
    if (this.graph === graph) this.drop()
    if (++this.#failures >= MOST_FAILED_CAPTURES) this.refuse()
  }

  /** The trial, if it awaits a time of this way. */
  trialOf(way: 'calls' | 'graph'): GraphTrial | undefined {
    return this.#trial?.awaits(way) === true ? this.#trial : undefined
  }

  /** Notes a time of the trial; a graph that is slower than the calls is given up. */
  timed(trial: GraphTrial, way: 'calls' | 'graph', milliseconds: number): void {
    trial.note(way, milliseconds)
    if (trial.isLost) this.refuse()
  }

  /** Leaves the signature to calls from now on. */
  refuse(): void {
    this.#isRefused = true
    this.drop()
  }

  /** Destroys the graph, as its buffers changed or were freed. */
  drop(): void {
    this.graph?.release()
    this.graph = undefined
  }
}

/** A number that two lists of one signature have in common for a slot: its size, and whether it is allocated or filled. */
function slotKey({ buffer, isAllocated, upload }: Slot): number {
  return 4 * buffer.bytes + (isAllocated ? 1 : 0) + (upload === undefined ? 0 : 2)
}

function modeOf(way: 'calls' | 'graph'): number {
  return way === 'calls' ? MODE.step : 0
}
