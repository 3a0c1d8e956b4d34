import { describe, expect, it } from 'vitest'
import { CommandList } from '../src/device/command_list.js'
import { type BufferHome, DeviceBuffer } from '../src/device/device_buffer.js'
import { COMMANDS } from '../src/sys/commands.js'
import { KERNELS } from '../src/sys/kernels.js'

/** Numbers objects from 1 on, and counts the bytes of buffers. */
function home() {
  const state = { next: 0, bytes: 0, released: [] as number[] }
  const made: BufferHome = {
    newId: <Id>() => ++state.next as Id,
    release: ({ id }) => void state.released.push(id),
    account: (bytes) => {
      state.bytes += bytes
    },
  }
  return Object.assign(made, { state })
}

/** Opcodes by the place in the table of commands. */
const opcode = (name: keyof typeof COMMANDS) => Object.keys(COMMANDS).indexOf(name)
const kernel = (name: keyof typeof KERNELS) => Object.keys(KERNELS).indexOf(name)
const ABSENT = -1

const [SEGMENT, ALLOCATE, RELEASE, UPLOAD] = (['segment', 'allocate', 'release', 'upload'] as const).map(opcode)

describe('CommandList', () => {
  it('begins with a segment, and is empty while it has nothing else', () => {
    const list = new CommandList(home(), 'run forward')
    expect(list.words).toEqual([SEGMENT])
    expect(list.isEmpty).toBe(true)
    list.segment('run backward')
    expect(list.isEmpty).toBe(true)
    expect(list.actions).toEqual(['run forward', 'run backward'])
    list.add('memoryInfo', {})
    expect(list.words).toEqual([SEGMENT, SEGMENT, opcode('memoryInfo')])
    expect(list.isEmpty).toBe(false)
  })

  it('names a buffer by the place of its first use', () => {
    const own = home()
    const [a, b] = [new DeviceBuffer(own, 8), new DeviceBuffer(own, 16)]
    const list = new CommandList(own, 'copy')
    list.copy(b, a)
    list.copy(a, b)
    expect(list.words).toEqual([SEGMENT, opcode('copy'), 0, 0, 1, 0, 8, opcode('copy'), 1, 0, 0, 0, 16])
    expect(list.slots.map(({ buffer }) => buffer)).toEqual([b, a])
    expect(list.slots.map(({ isWritten }) => isWritten)).toEqual([true, true])
  })

  it('joins launches of one kernel on four tensors at most, if all but the tensors is the same', () => {
    const own = home()
    const [norm, other, ...x] = Array.from({ length: 8 }, (_, k) => new DeviceBuffer(own, 4 * k))
    const list = new CommandList(own, 'clip')
    const clip = (k: number, limit = 5, by = norm!) => {
      list.segment(`clip ${k}`)
      list.launchTensors('clip_by_norm', k, 256, [{ x: x[k]!, count: k }], { norm: by, limit }, true)
    }
    const launches = () =>
      list.words.filter((word, k) => word === 256 && list.words[k - 3] === opcode('launchKernel')).length
    clip(1)
    clip(3)
    clip(2)
    const head = [opcode('launchKernel'), kernel('clip_by_norm'), 3, 256]
    expect(list.words).toEqual([SEGMENT, SEGMENT, ...head, 0, 2, 3, 0, 1, 3, 2, 0, 1])
    expect([list.actions, list.scalars]).toEqual([['clip', 'clip 1'], [5]])
    for (const [k, change] of [() => clip(4), () => clip(5), () => clip(1, 6), () => clip(1, 6, other)].entries()) {
      change()
      expect(launches()).toBe([1, 2, 3, 4][k])
    }
    list.copy(norm!, other!)
    clip(2, 6, other)
    expect(launches()).toBe(5)
    clip(0, 6, other)
    expect(list.actions.at(-1)).toBe('clip 0')
  })

  it('has the same words for lists that do the same with other buffers and scalars', () => {
    const words = [1.5, 2.5].map((value) => {
      const own = home()
      own.state.next = value * 100
      const list = new CommandList(own, 'fill')
      const buffer = list.allocate(64)
      list.launch('fill', 2, 256, { x: buffer, count: 16, value })
      return [list.words, list.scalars]
    })
    expect(words[0][0]).toEqual(words[1][0])
    expect(words[0][1]).toEqual([1.5])
    expect(words[1][1]).toEqual([2.5])
  })

  it('marks the buffers that it writes, and none that it only reads', () => {
    const own = home()
    const [read, written] = [new DeviceBuffer(own, 4), new DeviceBuffer(own, 4)]
    const list = new CommandList(own, 'copy')
    list.copy(written, read)
    expect(list.slots.map(({ buffer, isWritten, isAllocated }) => [buffer, isWritten, isAllocated])).toEqual([
      [written, true, false],
      [read, false, false],
    ])
  })

  it('allocates and releases its own buffers, and frees those of others', () => {
    const own = home()
    const other = new DeviceBuffer(own, 4)
    const list = new CommandList(own, 'make')
    const [a, b] = [list.allocate(4), list.allocate(8)]
    expect(own.state.bytes).toBe(16)
    expect(list.release(b)).toBe(true)
    expect(list.release(other)).toBe(false)
    list.free(other)
    expect(list.words).toEqual([SEGMENT, ALLOCATE, 0, 4, ALLOCATE, 1, 8, RELEASE, 1, RELEASE, 2])
    // Two allocations, then the release of the second.
    expect(list.lifetimes).toEqual([0, 1, ~1])
    expect(list.slots.map(({ isAllocated, isReleased }) => [isAllocated, isReleased])).toEqual([
      [true, false],
      [true, true],
      [false, false],
    ])
    list.isSubmitted = true
    const before = [...list.words]
    expect(list.release(a)).toBe(false)
    expect(list.words).toEqual(before)
  })

  it('does not release a buffer that it names but another list allocated', () => {
    const own = home()
    const first = new CommandList(own, 'make')
    const buffer = first.allocate(4)
    const second = new CommandList(own, 'use')
    second.add('clear', { to: buffer, offset: 0, bytes: 4 })
    expect(second.release(buffer)).toBe(false)
    expect(second.words).toEqual([SEGMENT, opcode('clear'), 0, 0, 4])
  })

  it('adopts a buffer as one that it allocates', () => {
    const own = home()
    const buffer = new CommandList(own, 'make').allocate(4)
    const second = new CommandList(own, 'go on')
    expect(second.adopt(buffer)).toBe(buffer)
    expect(second.words).toEqual([SEGMENT, ALLOCATE, 0, 4])
    expect(second.release(buffer)).toBe(true)
  })

  it('uploads an array as it is then, where the list is submitted later', () => {
    for (const isDeferred of [false, true]) {
      const list = new CommandList(home(), 'upload', isDeferred)
      const buffer = list.allocate(8)
      const whole = Float32Array.of(9, 1, 2, 9)
      const part = whole.subarray(1, 3)
      list.upload(buffer, part)
      part.fill(7)
      const [source] = list.sources
      const read = new Float32Array(source.buffer.slice(source.byteOffset, source.byteOffset + source.byteLength))
      expect([...read]).toEqual(isDeferred ? [1, 2] : [7, 7])
      expect(source.byteLength).toBe(8)
      expect(list.slots[0].upload).toBe(source)
      expect(list.words).toEqual([SEGMENT, ALLOCATE, 0, 8, UPLOAD, 0, 0, 0])
    }
  })

  it('keeps an upload to a buffer of another list out of its replays', () => {
    const own = home()
    const list = new CommandList(own, 'upload')
    list.upload(new DeviceBuffer(own, 4), Int32Array.of(1))
    expect(list.slots[0]).toMatchObject({ upload: undefined, isWritten: true, isAllocated: false })
  })

  it('encodes fields in the order of the table, those left out as -1 and a double as NaN', () => {
    const own = home()
    const list = new CommandList(own, 'describe')
    const [lengths, padding] = [Int32Array.of(2, 1), Float32Array.of(0)]
    // Any order of the properties.
    const fields = {
      paddingFill: padding,
      seqLengthArray: lengths,
      vectorSize: 5,
      batchSize: 2,
      maxSeqLength: 3,
      layout: 1,
      dtype: 0,
      descriptor: 77,
    }
    list.add('setDataDescriptor', fields as never)
    list.add('setDataDescriptor', { ...fields, paddingFill: undefined } as never)
    const code = opcode('setDataDescriptor')
    expect(list.words).toEqual([SEGMENT, code, 77, 0, 1, 3, 2, 5, 0, 1, code, 77, 0, 1, 3, 2, 5, 2, ABSENT])
    expect(list.sources).toEqual([lengths, padding, lengths])
    const downloaded = new Float32Array(2)
    const buffer = list.allocate(8)
    list.add('download', { from: buffer, offset: 0, to: downloaded })
    expect(list.words.slice(-4)).toEqual([opcode('download'), 0, 0, 0])
    expect(list.targets).toEqual([downloaded])
  })

  it('launches a kernel with its blocks and threads, and nothing without blocks', () => {
    const own = home()
    const list = new CommandList(own, 'fill')
    const output = list.allocate(64)
    const before = list.words.length
    const fields = { value: 0.5, count: 16, x: output }
    list.launch('fill', 0, 256, fields)
    expect(list.words.length).toBe(before)
    expect(list.scalars).toEqual([])
    list.launch('fill', 2, 256, fields)
    expect(list.words.slice(before)).toEqual([opcode('launchKernel'), kernel('fill'), 2, 256, 0, 16])
    expect(list.scalars).toEqual([0.5])
  })
})
