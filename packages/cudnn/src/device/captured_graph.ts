import { DTYPES, type FloatDType } from '@cudnn-rnn/ops'
import type { Graph } from '../sys/native_addon.js'
import { CommandList } from './command_list.js'
import type { CommandQueue } from './command_queue.js'
import { type BufferHome, BufferOwner, type DeviceBuffer } from './device_buffer.js'

/**
 * The commands of a list as a CUDA graph. Addresses in a graph are fixed. The graph owns the memory that the commands
 * allocate. External buffers that are the same every time (parameters, optimizer slots) are used in place; external
 * buffers that change are copied in before the launch, and out after it if the commands write them. Scalars are read
 * from memory, which is written before each launch.
 */
export class CapturedGraph {
  readonly id: Graph
  readonly bytes: number
  /** Allocates the graph's own buffers. */
  readonly memory: CommandList
  /** Frees it again, so that the calls of a list that cannot be captured find room. */
  readonly disposal: CommandList
  /** The buffer of each slot. */
  readonly buffers: readonly DeviceBuffer[]
  readonly scalars: DeviceBuffer | undefined
  isReady = false
  readonly #home: BufferHome
  readonly #queue: CommandQueue
  readonly #dtype: FloatDType
  readonly #owned = new BufferOwner()
  readonly #outside: DeviceBuffer[] = []
  #lastScalars: readonly number[] | undefined
  #isReleased = false

  constructor(
    home: BufferHome,
    queue: CommandQueue,
    list: CommandList,
    changing: ReadonlySet<number>,
    dtype: FloatDType,
  ) {
    this.#home = home
    this.#queue = queue
    this.#dtype = dtype
    this.id = home.newId<Graph>()
    this.memory = new CommandList(home, 'capture a graph')
    this.disposal = new CommandList(home, 'capture a graph')
    let bytes = 0
    const allocate = (size: number) => {
      bytes += size
      const buffer = this.#owned.own(this.memory.allocate(size))
      this.disposal.free(buffer)
      return buffer
    }
    const { lifetimes, slots, scalars } = list
    const buffers: DeviceBuffer[] = []
    for (const [k, { isAllocated, buffer }] of slots.entries()) {
      if (isAllocated) continue
      buffers[k] = changing.has(k) ? allocate(buffer.bytes) : buffer
      if (changing.has(k)) continue
      buffer.graphs ??= new Set()
      buffer.graphs.add(this)
      this.#outside.push(buffer)
    }
    // Memory that is released serves again, as the order of the commands allows. Uploads go before all commands.
    const idle = new Map<number, DeviceBuffer[]>()
    for (const event of lifetimes) {
      const { buffer, upload } = slots[event < 0 ? ~event : event]
      if (event >= 0) buffers[event] = (upload ? undefined : idle.get(buffer.bytes)?.pop()) ?? allocate(buffer.bytes)
      else idle.set(buffer.bytes, [...(idle.get(buffer.bytes) ?? []), buffers[~event]])
    }
    if (scalars.length > 0) this.scalars = allocate(scalars.length * DTYPES[dtype].bytes)
    this.buffers = buffers
    this.bytes = bytes
  }

  /** A launch in place of the commands of `list`, whose signature equals the captured list's. */
  launchOf({ slots, scalars }: CommandList): CommandList {
    const launch = new CommandList(this.#home, 'replay commands')
    for (let k = 0; k < slots.length; k++) {
      const { buffer, upload, isAllocated } = slots[k]
      const own = this.buffers[k]
      if (upload !== undefined) launch.upload(own, upload)
      else if (!isAllocated && own !== buffer) launch.copy(own, buffer)
    }
    this.#sendScalars(launch, scalars)
    launch.add('launchGraph', { exec: this.id })
    for (let k = 0; k < slots.length; k++) {
      const { buffer, isAllocated, isReleased, isWritten } = slots[k]
      const own = this.buffers[k]
      if (isAllocated && !isReleased) launch.copy(launch.adopt(buffer), own)
      else if (!isAllocated && own !== buffer && isWritten) launch.copy(buffer, own)
    }
    return launch
  }

  release(): void {
    // Released by its entry, or by a buffer that it uses, whichever comes first.
    if (this.#isReleased) return
    this.#isReleased = true
    this.isReady = false
    for (const buffer of this.#outside) buffer.graphs?.delete(this)
    this.#queue.release(this.id)
    this.#owned.release()
  }

  /**
   * Uploads the scalars if they differ from the last launch's; Object.is, as NaN equals itself and -0 differs from 0.
   */
  #sendScalars(launch: CommandList, scalars: readonly number[]): void {
    if (this.scalars === undefined) return
    if (this.#lastScalars?.every((value, k) => Object.is(value, scalars[k]))) return
    this.#lastScalars = scalars
    launch.upload(this.scalars, new DTYPES[this.#dtype].array(scalars))
  }
}
