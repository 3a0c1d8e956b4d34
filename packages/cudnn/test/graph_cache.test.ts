import { describe, expect, it } from 'vitest'
import { CommandList } from '../src/device/command_list.js'
import type { CommandQueue, Submission } from '../src/device/command_queue.js'
import { type BufferHome, DeviceBuffer } from '../src/device/device_buffer.js'
import { GraphCache, type GraphPolicy } from '../src/device/graph_cache.js'
import { COMMANDS, MODE } from '../src/sys/commands.js'

const MIB = 2 ** 20

/** A queue whose worker captures and runs lists at once, and records them. */
class RecordingQueue {
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

function cacheOf(policy: GraphPolicy, deviceBytes = 8 * 1024 * MIB) {
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

/** The opcodes of the commands of a launch, without the segment. */
function commandsOf(launch: CommandList): string[] {
  const names = Object.keys(COMMANDS)
  const found: string[] = []
  for (let at = 1; at < launch.words.length; ) {
    const name = names[launch.words[at]] as keyof typeof COMMANDS
    found.push(name)
    at += 1 + Object.keys(COMMANDS[name].fields).length
  }
  return found
}

describe('GraphCache', () => {
  it('issues calls twice, captures the third list and launches from the fourth on', async () => {
    const { buffer, step, submitted, queue } = cacheOf('always')
    const [x, y] = [buffer(), buffer()]
    expect(await submitted(step(x, y))).toEqual(['calls'])
    expect(await submitted(step(x, y))).toEqual(['calls'])
    expect(await submitted(step(x, y))).toEqual(['memory', 'capture', 'graph'])
    expect(await submitted(step(x, y))).toEqual(['graph'])
    // Both buffers are used in place, and the scalar is the capture's.
    expect(commandsOf(queue.launches[0])).toEqual(['upload', 'launchGraph'])
    expect(commandsOf(queue.launches[1])).toEqual(['launchGraph'])
  })

  it('never captures where the policy is never', async () => {
    const { buffer, step, submitted } = cacheOf('never')
    const [x, y] = [buffer(), buffer()]
    for (let k = 0; k < 5; k++) expect(await submitted(step(x, y))).toEqual(['calls'])
  })

  it('copies a buffer that changes in before the launch, and out after it if the commands write it', async () => {
    const { buffer, step, submitted, queue } = cacheOf('always')
    const y = buffer()
    for (let k = 0; k < 2; k++) await submitted(step(buffer(), y))
    expect(await submitted(step(buffer(), y))).toEqual(['memory', 'capture', 'graph'])
    expect(commandsOf(queue.launches[0])).toEqual(['copy', 'upload', 'launchGraph'])
    // The output changes too: a new capture, whose output is copied out.
    expect(await submitted(step(buffer(), buffer()))).toEqual(['memory', 'capture', 'graph'])
    expect(await submitted(step(buffer(), buffer()))).toEqual(['graph'])
    expect(commandsOf(queue.launches.at(-1) as CommandList)).toEqual(['copy', 'copy', 'launchGraph', 'copy'])
  })

  it('uploads scalars that differ from the last launch, of which NaN equals itself and -0 is not 0', async () => {
    const { buffer, step, submitted, queue } = cacheOf('always')
    const [x, y] = [buffer(), buffer()]
    const values = [0, 0, 0, -0, -0, Number.NaN, Number.NaN, 2]
    for (const value of values) await submitted(step(x, y, { value }))
    const uploads = queue.launches.map((launch) => commandsOf(launch).includes('upload'))
    expect(uploads).toEqual([true, true, false, true, false, true])
    expect(queue.launches[1].sources[0]).toEqual(Float32Array.of(-0))
  })

  it('captures a signature at most four times', async () => {
    const { cache, queue, buffer, home } = cacheOf('always')
    const buffers = Array.from({ length: 8 }, () => buffer())
    // Each list has one buffer more that was another before.
    for (let changed = 0; changed < 12; changed++) {
      const list = new CommandList(home, 'step')
      if (changed >= 2 && changed - 2 < buffers.length) buffers[changed - 2] = buffer()
      for (const to of buffers) list.add('clear', { to, offset: 0, bytes: 16 })
      await cache.submit(list)
    }
    expect(queue.ran.filter((way) => way === 'capture')).toHaveLength(4)
    expect(queue.ran.at(-1)).toBe('calls')
  })

  it('runs the calls where a capture fails, frees its memory, and gives up after the third', async () => {
    const { buffer, step, submitted, queue, state } = cacheOf('always')
    const [x, y] = [buffer(), buffer()]
    for (let k = 0; k < 2; k++) await submitted(step(x, y))
    queue.failing = 'capture'
    const held = state.bytes
    for (let k = 0; k < 3; k++) {
      expect(await submitted(step(x, y))).toEqual(['memory', 'capture', 'disposal', 'calls'])
    }
    expect(await submitted(step(x, y))).toEqual(['calls'])
    expect(state.bytes).toBe(held)
    expect(x.graphs?.size).toBe(0)
  })

  it('captures again after a capture that failed once', async () => {
    const { buffer, step, submitted, queue } = cacheOf('always')
    const [x, y] = [buffer(), buffer()]
    for (let k = 0; k < 2; k++) await submitted(step(x, y))
    queue.failing = 'capture'
    await submitted(step(x, y))
    queue.failing = undefined
    expect(await submitted(step(x, y))).toEqual(['memory', 'capture', 'graph'])
  })

  it('rejects with the failure of a launch, drops the graph and leaves the signature to calls', async () => {
    const { cache, buffer, step, submitted, queue } = cacheOf('always')
    const [x, y] = [buffer(), buffer()]
    for (let k = 0; k < 3; k++) await submitted(step(x, y))
    queue.failing = 'graph'
    await expect(cache.submit(step(x, y))).rejects.toThrow('graph failed')
    queue.failing = undefined
    expect(x.graphs?.size).toBe(0)
    for (let k = 0; k < 3; k++) expect(await submitted(step(x, y))).toEqual(['calls'])
  })

  it('times three runs of each way, and keeps a graph that is faster', async () => {
    const { buffer, step, submitted, queue } = cacheOf('measured')
    const [x, y] = [buffer(), buffer()]
    for (let k = 0; k < 10; k++) await submitted(step(x, y))
    const timed = queue.ran.filter((_, k) => (queue.modes[k] & MODE.timed) !== 0)
    expect(timed).toEqual(['calls', 'calls', 'graph', 'graph', 'graph'])
    expect(queue.ran.at(-1)).toBe('graph')
  })

  it('gives up a graph that is slower than the calls', async () => {
    const { buffer, step, submitted, queue } = cacheOf('measured')
    queue.times.graph = 3
    const [x, y] = [buffer(), buffer()]
    for (let k = 0; k < 10; k++) await submitted(step(x, y))
    expect(queue.ran.filter((way) => way === 'graph')).toHaveLength(4)
    expect(queue.ran.slice(-3)).toEqual(['calls', 'calls', 'calls'])
    expect(x.graphs?.size).toBe(0)
  })

  it('leaves lists of more than 512 MiB to calls', async () => {
    const { buffer, step, submitted } = cacheOf('always')
    const [x, y] = [buffer(), buffer()]
    for (let k = 0; k < 5; k++) expect(await submitted(step(x, y, { bytes: 513 * MIB }))).toEqual(['calls'])
  })

  it('captures lists of up to a 64th of a large device', async () => {
    const { buffer, step, submitted } = cacheOf('always', 128 * 1024 * MIB)
    const [x, y] = [buffer(), buffer()]
    const last = async (bytes: number) => {
      for (let k = 0; k < 2; k++) await submitted(step(x, y, { bytes }))
      return submitted(step(x, y, { bytes }))
    }
    expect(await last(2047 * MIB)).toEqual(['memory', 'capture', 'graph'])
    expect(await last(2049 * MIB)).toEqual(['calls'])
  })

  it('drops the least recently used graphs beyond 1 GiB', async () => {
    const { buffer, step, submitted } = cacheOf('always')
    const [x, y] = [buffer(), buffer()]
    const run = (bytes: number) => submitted(step(x, y, { bytes }))
    const [a, b, c] = [400, 401, 402].map((size) => size * MIB)
    for (const bytes of [a, b]) for (let k = 0; k < 3; k++) await run(bytes)
    expect(x.graphs?.size).toBe(2)
    // a is the more recent one now.
    expect(await run(a)).toEqual(['graph'])
    for (let k = 0; k < 3; k++) await run(c)
    expect(x.graphs?.size).toBe(2)
    expect(await run(a)).toEqual(['graph'])
    expect(await run(b)).toEqual(['memory', 'capture', 'graph'])
  })

  it('remembers 64 signatures, and releases the graph of the least recently used', async () => {
    const { buffer, step, submitted } = cacheOf('always')
    const [x, y] = [buffer(), buffer()]
    for (let k = 0; k < 3; k++) await submitted(step(x, y))
    for (let k = 1; k <= 63; k++) await submitted(step(x, y, { bytes: 16 + 4 * k }))
    expect(x.graphs?.size).toBe(1)
    await submitted(step(x, y, { bytes: 512 }))
    expect(x.graphs?.size).toBe(0)
    expect(await submitted(step(x, y))).toEqual(['calls'])
  })

  it('does not share a graph between lists of other sizes, scalars stored apart', async () => {
    const { buffer, step, submitted } = cacheOf('always')
    const [x, y, large] = [buffer(), buffer(), buffer(32)]
    for (let k = 0; k < 3; k++) await submitted(step(x, y, { value: k }))
    expect(await submitted(step(x, y, { value: 9 }))).toEqual(['graph'])
    expect(await submitted(step(x, large))).toEqual(['calls'])
  })

  it('releases every graph when it is disposed', async () => {
    const { cache, buffer, step, submitted, queue, state } = cacheOf('always')
    const [x, y] = [buffer(), buffer()]
    const held = state.bytes
    for (let k = 0; k < 3; k++) await submitted(step(x, y))
    cache.dispose()
    expect(x.graphs?.size).toBe(0)
    expect(queue.released.length).toBeGreaterThan(0)
    expect(state.bytes).toBe(held)
  })

  describe('submitAndRead', () => {
    const reading = (home: BufferHome, from: DeviceBuffer) => {
      const list = new CommandList(home, 'read')
      list.add('download', { from, offset: 0, to: new Float32Array(4) })
      return list
    }

    it.each(['always', 'measured'] as const)('captures as submit does, policy %s', (policy) => {
      const { cache, queue, home, buffer, step } = cacheOf(policy)
      const [x, y] = [buffer(), buffer()]
      for (let k = 0; k < 4; k++) cache.submitAndRead(step(x, y), reading(home, y))
      const expected = ['calls', 'read', 'calls', 'read', 'memory', 'capture', 'graph', 'read', 'graph', 'read']
      expect(queue.ran).toEqual(expected)
    })

    it('runs the calls where a capture fails', () => {
      const { cache, queue, home, buffer, step } = cacheOf('always')
      const [x, y] = [buffer(), buffer()]
      queue.failing = 'capture'
      for (let k = 0; k < 6; k++) cache.submitAndRead(step(x, y), reading(home, y))
      expect(queue.ran.filter((way) => way === 'capture')).toHaveLength(3)
      expect(queue.ran.filter((way) => way === 'calls')).toHaveLength(6)
      expect(x.graphs?.size).toBe(0)
    })

    it('throws the failure of a launch and leaves the signature to calls', () => {
      const { cache, queue, home, buffer, step } = cacheOf('always')
      const [x, y] = [buffer(), buffer()]
      for (let k = 0; k < 3; k++) cache.submitAndRead(step(x, y), reading(home, y))
      queue.failing = 'graph'
      expect(() => cache.submitAndRead(step(x, y), reading(home, y))).toThrow('graph failed')
      queue.failing = undefined
      queue.ran.length = 0
      cache.submitAndRead(step(x, y), reading(home, y))
      expect(queue.ran).toEqual(['calls', 'read'])
    })
  })
})
