import { CommandList } from '../src/device/command_list.js'
import type { CommandQueue, Submission } from '../src/device/command_queue.js'
import { type BufferHome, DeviceBuffer } from '../src/device/device_buffer.js'
import { GraphCache, type GraphPolicy } from '../src/device/graph_cache.js'
import { MODE } from '../src/sys/commands.js'

export const MIB = 2 ** 20

/** A queue whose worker captures and runs lists at once, and records them. */
export class RecordingQueue {
  /** Lists that ran: `calls`, `capture`, `graph`; `memory` and `disposal` of graphs. */
  readonly ran: string[] = []
  readonly launches: CommandList[] = []
  readonly modes: number[] = []
  readonly released: number[] = []
  /** Milliseconds that timed lists report. */
  readonly times = { calls: 2, graph: 1 }
  failing: 'capture' | 'graph' | 'calls' | undefined
  #isCaptured = false

  submit(list: CommandList, submission: Submission = {}): void {
    this.#run(list, submission)
  }

  async settle(list: CommandList, submission: Submission): Promise<Float64Array> {
    return this.#run(list, submission)
  }

  settleNow(list: CommandList, submission: Submission = {}): Float64Array {
    return this.#run(list, submission)
  }

  release(id: number): void {
    this.released.push(id)
  }

  #run(list: CommandList, { mode = 0, graph }: Submission): Float64Array {
    if ((mode & MODE.ifCaptured) !== 0 && !this.#isCaptured) return new Float64Array(0)
    if ((mode & MODE.unlessCaptured) !== 0 && this.#isCaptured) return new Float64Array(0)
    const way = this.#wayOf(list, graph)
    this.ran.push(way)
    this.modes.push(mode)
    if (way === 'graph') this.launches.push(list)
    if (way === 'capture') this.#isCaptured = this.failing !== 'capture'
    if (this.failing === way) throw new Error(`${way} failed`)
    const isTimed = (mode & MODE.timed) !== 0
    return Float64Array.of(0, isTimed ? this.times[way === 'graph' ? 'graph' : 'calls'] : Number.NaN)
  }

  #wayOf(list: CommandList, graph: unknown): string {
    if (graph !== undefined) return 'capture'
    const [action] = list.actions
    if (action === 'replay commands') return 'graph'
    if (action !== 'capture a graph') return action === 'step' ? 'calls' : action
    return list.lifetimes.some((event) => event >= 0) ? 'memory' : 'disposal'
  }
}

export function cacheOf(policy: GraphPolicy, deviceBytes = 8 * 1024 * MIB) {
  const state = { next: 0, bytes: 0 }
  const queue = new RecordingQueue()
  const home: BufferHome = {
    newId: <Id>() => ++state.next as Id,
    release: ({ id }) => queue.release(id),
    account: (bytes) => {
      state.bytes += bytes
    },
  }
  const cache = new GraphCache(home, queue as unknown as CommandQueue, policy, 'float32', deviceBytes)
  const buffer = (bytes = 16) => new DeviceBuffer(home, bytes)
  /** Allocates `bytes`, fills them with `value`, copies `x` to them and them to `y`. */
  const step = (x: DeviceBuffer, y: DeviceBuffer, { value = 1, bytes = 16 } = {}) => {
    const list = new CommandList(home, 'step')
    const own = list.allocate(bytes)
    list.launch('fill', 1, 32, { x: own, count: 4, value })
    list.copy(own, x)
    list.copy(y, own)
    list.release(own)
    own.discard()
    return list
  }
  /** The lists that ran for a submission. */
  const submitted = async (list: CommandList) => {
    const before = queue.ran.length
    await cache.submit(list)
    return queue.ran.slice(before)
  }
  return { cache, queue, state, home, buffer, step, submitted }
}
