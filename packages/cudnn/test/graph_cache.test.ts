import { describe, expect, it } from 'vitest'
import { CommandList } from '../src/device/command_list.js'
import type { BufferHome, DeviceBuffer } from '../src/device/device_buffer.js'
import { COMMANDS, MODE } from '../src/sys/commands.js'
import { cacheOf } from './recorded_lists.js'

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
