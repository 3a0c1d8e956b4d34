import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { type RowNetwork, type StreamPoolOptions, streamPoolOf } from '../../src/index.js'
import { endOfTurn, type RowSum, SummingRows } from './summing_rows.js'

const frame = (...values: number[]) => ({ data: Float32Array.from(values), shape: [1] })
const frames = (...values: number[]) => ({ data: Float32Array.from(values), shape: [values.length, 1] })

function openPool(options: StreamPoolOptions = {}, { isElsewhere = false } = {}) {
  const network = new SummingRows({ isElsewhere })
  return { network, pool: streamPoolOf<RowSum>(network, { maxStreams: 4, ...options }) }
}

const settled = (promise: Promise<unknown>) => {
  const record = { state: 'pending' as 'pending' | 'fulfilled' | 'rejected' }
  promise.then(
    () => {
      record.state = 'fulfilled'
    },
    () => {
      record.state = 'rejected'
    },
  )
  return record
}

afterEach(() => {
  vi.useRealTimers()
})

describe('a round of a pool', () => {
  it('has one row for each stream with input, in the order of arrival', async () => {
    const { network, pool } = openPool()
    const [a, b, c] = [pool.open(), pool.open(), pool.open()]
    const outputs = await Promise.all([c.step(frame(3)), a.step(frame(1))])
    expect(network.rounds).toEqual([{ rows: [2, 0], input: [3, 1] }])
    expect(outputs).toEqual([
      { data: Float32Array.of(3, 1), shape: [2] },
      { data: Float32Array.of(1, 1), shape: [2] },
    ])
    expect(b.waiting).toBe(0)
    pool.dispose()
  })

  it('is one time step of a sequence; streams with more time steps share the rounds that follow', async () => {
    const { network, pool } = openPool()
    const [a, b] = [pool.open(), pool.open()]
    const long = a.step(frames(1, 10, 100))
    const short = b.step(frames(2, 20))
    expect([a.waiting, b.waiting]).toEqual([3, 2])
    expect(pool.stats().waiting).toBe(5)
    expect(await long).toEqual({ data: Float32Array.of(1, 1, 11, 2, 111, 3), shape: [3, 2] })
    expect(await short).toEqual({ data: Float32Array.of(2, 1, 22, 2), shape: [2, 2] })
    expect(network.rounds.map(({ rows }) => rows)).toEqual([[0, 1], [0, 1], [0]])
    expect([a.waiting, b.waiting]).toEqual([0, 0])
    pool.dispose()
  })

  it('has frames that came without their shape, of one time step alone', async () => {
    const { pool } = openPool()
    const [a, b] = [pool.open(), pool.open()]
    const [given, expected] = await Promise.all([a.step(Float32Array.of(3)), b.step(frame(3))])
    expect(given).toEqual(expected)
    await expect(a.step(Float32Array.of(1, 2))).rejects.toThrow(coded('ERR_SHAPE'))
    pool.dispose()
  })

  it('leaves streams beyond maxBatch in the order of arrival for the next one', async () => {
    const { network, pool } = openPool({ maxBatch: 2 })
    const streams = [pool.open(), pool.open(), pool.open(), pool.open()]
    await Promise.all([3, 1, 0, 2].map((index) => streams[index].step(frames(index, 10 + index))))
    expect(network.rounds).toEqual([
      { rows: [3, 1], input: [3, 1] },
      { rows: [0, 2], input: [0, 2] },
      { rows: [3, 1], input: [13, 11] },
      { rows: [0, 2], input: [10, 12] },
    ])
    pool.dispose()
  })

  it('leaves a turn of the event loop to others before the next one', async () => {
    const { network, pool } = openPool({ maxBatch: 1 })
    const [a, b] = [pool.open(), pool.open()]
    const steps = [a.step(frame(1)), b.step(frame(2))]
    const seen: number[] = []
    for (let turn = 0; turn < 2; turn++) {
      await endOfTurn()
      seen.push(network.rounds.length)
    }
    expect(seen).toEqual([1, 2])
    await Promise.all(steps)
    pool.dispose()
  })

  it('reads a frame at the call: the caller may write to it immediately', async () => {
    const { pool } = openPool()
    const stream = pool.open()
    const reused = frame(1)
    const sequence = frames(5, 6)
    const steps = [stream.step(reused), stream.step(sequence)]
    reused.data[0] = 100
    sequence.data.fill(100)
    const [first, second] = await Promise.all(steps)
    expect([...first.data]).toEqual([1, 1])
    expect([...second.data]).toEqual([6, 2, 12, 3])
    pool.dispose()
  })

  it('takes a time step of a sequence of one as a sequence: the result has its time axis', async () => {
    const { pool } = openPool()
    const stream = pool.open()
    expect(await stream.step(frames(4))).toEqual({ data: Float32Array.of(4, 1), shape: [1, 2] })
    pool.dispose()
  })
})

describe('a stream of a pool', () => {
  it('keeps a sequence of no time steps in the order of its calls, and computes nothing for it', async () => {
    const { network, pool } = openPool()
    const stream = pool.open()
    const order: string[] = []
    const one = stream.step(frame(1)).then(() => order.push('one'))
    const none = stream.step({ data: new Float32Array(0), shape: [0, 1] }).then((output) => {
      order.push('none')
      return output
    })
    await one
    expect(await none).toEqual({ data: new Float32Array(0), shape: [0, 2] })
    expect(order).toEqual(['one', 'none'])
    expect(network.rounds).toHaveLength(1)
    expect(pool.stats()).toMatchObject({ steps: 1, waiting: 0 })
    pool.dispose()
  })

  it('takes a backend tensor of no time steps', async () => {
    const { network, pool } = openPool()
    const backend = openReferenceBackend()
    const stream = pool.open()
    const none = backend.zeros([0, 1])
    expect((await stream.step(none)).shape).toEqual([0, 2])
    expect([...(await stream.step(frame(2))).data]).toEqual([2, 1])
    expect(network.rounds).toHaveLength(1)
    pool.dispose()
    backend.dispose()
  })

  it('waits for a backend tensor to be read while other streams go on', async () => {
    const { network, pool } = openPool()
    const backend = openReferenceBackend()
    const tensor = backend.tensor(frames(1, 2))
    let arrive = () => {}
    const read = tensor.read.bind(tensor)
    vi.spyOn(tensor, 'read').mockImplementation(async () => {
      await new Promise<void>((resolve) => {
        arrive = resolve
      })
      return read()
    })
    const [slow, quick] = [pool.open(), pool.open()]
    const steps = [slow.step(tensor), slow.step(frame(4))]
    expect([...(await quick.step(frame(8))).data]).toEqual([8, 1])
    expect(slow.waiting).toBe(3)
    arrive()
    expect((await Promise.all(steps)).map(({ data }) => [...data])).toEqual([
      [1, 1, 3, 2],
      [7, 3],
    ])
    expect(network.rounds.map(({ rows }) => rows)).toEqual([[1], [0], [0], [0]])
    pool.dispose()
    backend.dispose()
  })

  it('rejects the step whose tensor cannot be read, and computes the next one', async () => {
    const { pool } = openPool({ maxQueued: 2 })
    const backend = openReferenceBackend()
    const tensor = backend.tensor(frame(1))
    vi.spyOn(tensor, 'read').mockRejectedValue(new Error('device lost'))
    const stream = pool.open()
    const [lost, next] = [stream.step(tensor), stream.step(frame(3))]
    await expect(lost).rejects.toThrow('device lost')
    expect([...(await next).data]).toEqual([3, 1])
    expect(pool.stats()).toMatchObject({ failed: 1, steps: 1, waiting: 0 })
    const alone = stream.step(tensor)
    const drained = pool.drain()
    await expect(alone).rejects.toThrow('device lost')
    await drained
    pool.dispose()
    backend.dispose()
  })

  it('ignores a tensor that arrives after the stream was closed', async () => {
    const { network, pool } = openPool()
    const backend = openReferenceBackend()
    const tensor = backend.tensor(frame(1))
    const stream = pool.open()
    const step = stream.step(tensor)
    stream.close()
    await expect(step).rejects.toThrow(coded('ERR_STREAM_CLOSED'))
    await endOfTurn()
    expect(network.rounds).toEqual([])
    expect(pool.stats()).toMatchObject({ failed: 0, waiting: 0, streams: 0 })
    pool.dispose()
    backend.dispose()
  })

  it('resets and restores between the steps before and after the call', async () => {
    const { pool } = openPool()
    const stream = pool.open()
    const first = stream.step(frames(1, 2))
    stream.reset()
    const second = stream.step(frame(5))
    const state = stream.state()
    stream.restore([40, 7])
    const third = stream.step(frame(2))
    expect([...(await first).data]).toEqual([1, 1, 3, 2])
    expect([...(await second).data]).toEqual([5, 1])
    expect(await state).toEqual([5, 1])
    expect([...(await third).data]).toEqual([42, 8])
    pool.dispose()
  })

  it('takes a state at the call: the caller may write to it before it is restored', async () => {
    const { pool } = openPool()
    const stream = pool.open()
    const given: [number, number] = [10, 1]
    const step = stream.step(frame(1))
    stream.restore(given)
    given[0] = -1
    await step
    expect(await stream.state()).toEqual([10, 1])
    const opened: [number, number] = [3, 2]
    const other = pool.open(opened)
    opened[0] = -1
    expect([...(await other.step(frame(1))).data]).toEqual([4, 3])
    pool.dispose()
  })

  it('is not opened, and takes no row, where its state does not fit', async () => {
    const { network, pool } = openPool({ maxStreams: 1 })
    expect(() => pool.open([1] as never)).toThrow(coded('ERR_SHAPE'))
    expect(() => pool.open(null as never)).toThrow(coded('ERR_SHAPE'))
    expect(pool.stats().streams).toBe(0)
    const stream = pool.open()
    expect(() => stream.restore([1] as never)).toThrow(coded('ERR_SHAPE'))
    expect([...(await stream.step(frame(1))).data]).toEqual([1, 1])
    expect(network.calls).toEqual(['step'])
    pool.dispose()
  })

  it('uses a row that was never used as it is, and resets a row that was', async () => {
    const { network, pool } = openPool()
    const [a] = [pool.open(), pool.open()]
    await a.step(frame(7))
    a.close()
    const again = pool.open()
    expect(network.calls).toEqual(['step', 'reset 0'])
    expect([...(await again.step(frame(1))).data]).toEqual([1, 1])
    again.close()
    const restored = pool.open([5, 5])
    expect(network.calls.at(-1)).toBe('restore 0')
    expect([...(await restored.step(frame(1))).data]).toEqual([6, 6])
    pool.dispose()
  })

  it('prints its name, the time steps that wait, and whether it is closed', async () => {
    const { pool } = openPool()
    const stream = pool.open()
    const step = stream.step(frames(1, 2))
    expect(String(stream)).toMatch(/PooledStream.*waiting.*2.*open/)
    expect(String(pool)).toMatch(/StreamPool.*streams.*1.*maxStreams.*4.*waiting.*2.*live/)
    await step
    stream[Symbol.dispose]()
    expect(stream.closed).toBe(true)
    expect(String(stream)).toMatch(/waiting.*0.*closed/)
    pool[Symbol.dispose]()
    expect(String(pool)).toContain('disposed')
  })
})

describe('a pool whose network computes elsewhere', () => {
  it('gathers the next round while one runs, and starts it when that one is done', async () => {
    const { network, pool } = openPool({}, { isElsewhere: true })
    const [a, b] = [pool.open(), pool.open()]
    const first = a.step(frame(1))
    await endOfTurn()
    const [second, third] = [b.step(frame(2)), a.step(frame(4))]
    await endOfTurn()
    expect(network.rounds).toHaveLength(1)
    await network.finish()
    expect([...(await first).data]).toEqual([1, 1])
    expect(network.rounds[1]).toEqual({ rows: [1, 0], input: [2, 4] })
    await network.finish()
    expect([...(await second).data]).toEqual([2, 1])
    expect([...(await third).data]).toEqual([5, 2])
    pool.dispose()
  })

  it('changes no state while a round runs', async () => {
    const { network, pool } = openPool({}, { isElsewhere: true })
    const [a, b] = [pool.open(), pool.open()]
    const step = a.step(frame(1))
    await endOfTurn()
    const state = b.state()
    b.restore([9, 9])
    b.reset()
    const c = pool.open([20, 2])
    const later = [b.step(frame(3)), c.step(frame(1))]
    expect(network.calls).toEqual(['step'])
    await network.finish()
    await step
    expect(network.calls).toEqual(['step', 'state 1', 'restore 1', 'reset 1', 'restore 2', 'step'])
    expect(await state).toEqual([0, 0])
    await network.finish()
    expect((await Promise.all(later)).map(({ data }) => [...data])).toEqual([
      [3, 1],
      [21, 3],
    ])
    pool.dispose()
  })

  it('gives the row of a stream that was closed during a round to the next one, from zeros', async () => {
    const { network, pool } = openPool({ maxStreams: 1 }, { isElsewhere: true })
    const old = pool.open()
    const lost = old.step(frame(50))
    await endOfTurn()
    old.close()
    await expect(lost).rejects.toThrow(coded('ERR_STREAM_CLOSED'))
    const next = pool.open()
    const step = next.step(frame(1))
    await network.finish()
    expect(network.calls).toEqual(['step', 'reset 0', 'step'])
    await network.finish()
    expect([...(await step).data]).toEqual([1, 1])
    pool.dispose()
  })

  it('forgets the queued changes of a stream that is closed during a round', async () => {
    const { network, pool } = openPool({}, { isElsewhere: true })
    const [a, b] = [pool.open(), pool.open()]
    const step = a.step(frame(1))
    await endOfTurn()
    b.reset()
    const state = b.state()
    b.close()
    await expect(state).rejects.toThrow(coded('ERR_STREAM_CLOSED'))
    await network.finish()
    await step
    expect(network.calls).toEqual(['step'])
    pool.dispose()
  })

  it('rejects the steps of a round that fails, and starts the next one', async () => {
    const { network, pool } = openPool({}, { isElsewhere: true })
    const [a, b] = [pool.open(), pool.open()]
    const failing = [a.step(frames(1, 2)), b.step(frame(3))]
    const failed = Promise.allSettled(failing)
    const next = a.step(frame(8))
    await endOfTurn()
    network.failure = new Error('device lost')
    await network.finish()
    expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await network.finish()
    expect([...(await next).data]).toEqual([8, 1])
    expect(pool.stats()).toMatchObject({ rounds: 2, failed: 2, steps: 1, waiting: 0 })
    pool.dispose()
  })

  it('delivers nothing of a round that ends after dispose()', async () => {
    const { network, pool } = openPool({}, { isElsewhere: true })
    const stream = pool.open()
    const step = stream.step(frames(1, 2))
    await endOfTurn()
    const state = stream.state()
    pool.dispose()
    await expect(step).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    await expect(state).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    await network.finish()
    expect(network.calls).toEqual(['step'])
    expect(pool.stats()).toMatchObject({ streams: 0, rounds: 0, steps: 0, waiting: 0 })
  })

  it('releases its network at dispose(), and ignores the failure of the round that runs', async () => {
    const { network, pool } = openPool({}, { isElsewhere: true })
    const step = pool.open().step(frame(1))
    await endOfTurn()
    pool.dispose()
    expect(network.disposals).toBe(1)
    await expect(step).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    network.failure = new Error('its tensors were disposed')
    await network.finish()
    expect(pool.stats()).toMatchObject({ failed: 0, rounds: 0 })
  })
})

describe('maxDelayMs', () => {
  it('is how long a time step waits for those of other streams', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { network, pool } = openPool({ maxDelayMs: 50 })
    const [a] = [pool.open(), pool.open()]
    const step = a.step(frame(1))
    vi.advanceTimersByTime(49)
    expect(network.rounds).toEqual([])
    vi.advanceTimersByTime(1)
    expect(network.rounds).toHaveLength(1)
    expect([...(await step).data]).toEqual([1, 1])
    pool.dispose()
  })

  it('does not delay the second time step of a sequence', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { network, pool } = openPool({ maxDelayMs: 50 })
    const [a] = [pool.open(), pool.open()]
    const step = a.step(frames(1, 2, 3))
    vi.advanceTimersByTime(50)
    expect(network.rounds).toHaveLength(1)
    expect((await step).shape).toEqual([3, 2])
    pool.dispose()
  })

  it('does not delay a round of maxBatch streams', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { network, pool } = openPool({ maxDelayMs: 50, maxBatch: 2 })
    const [a, b] = [pool.open(), pool.open(), pool.open()]
    await Promise.all([a.step(frame(1)), b.step(frame(2))])
    expect(network.rounds).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
    pool.dispose()
  })

  it('ends when the last stream without input is closed: every open stream has input then', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { network, pool } = openPool({ maxDelayMs: 50 })
    const [a, idle] = [pool.open(), pool.open()]
    const step = settled(a.step(frame(1)))
    idle.close()
    await endOfTurn()
    expect(network.rounds).toEqual([{ rows: [0], input: [1] }])
    expect(step.state).toBe('fulfilled')
    expect(vi.getTimerCount()).toBe(0)
    pool.dispose()
  })

  it('leaves no timer when the only stream with input is closed', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { network, pool } = openPool({ maxDelayMs: 50 })
    const [a] = [pool.open(), pool.open()]
    const step = settled(a.step(frame(1)))
    expect(vi.getTimerCount()).toBe(1)
    a.close()
    expect(vi.getTimerCount()).toBe(0)
    vi.advanceTimersByTime(50)
    expect(network.rounds).toEqual([])
    expect(step.state).not.toBe('fulfilled')
    pool.dispose()
  })
})

describe('close()', () => {
  it('takes the frame of the stream from the round that is gathered, and no other frame', async () => {
    const { network, pool } = openPool()
    const [a, b, c] = [pool.open(), pool.open(), pool.open()]
    const steps = [a.step(frame(1)), b.step(frame(2)), c.step(frame(3))]
    const closed = settled(steps[1])
    b.close()
    b.close()
    await Promise.all([steps[0], steps[2]])
    expect(closed.state).toBe('rejected')
    expect(network.rounds).toEqual([{ rows: [0, 2], input: [1, 3] }])
    expect(pool.stats()).toMatchObject({ streams: 2, steps: 2, waiting: 0 })
    pool.dispose()
  })

  it('lets a stream that is opened in its place join the same round', async () => {
    const { network, pool } = openPool({ maxStreams: 2 })
    const [a, b] = [pool.open(), pool.open()]
    await a.step(frame(100))
    const lost = settled(a.step(frame(1)))
    const kept = b.step(frame(2))
    a.close()
    const c = pool.open()
    const [, own] = await Promise.all([kept, c.step(frame(3))])
    expect(network.rounds.at(-1)).toEqual({ rows: [1, 0], input: [2, 3] })
    expect([...own.data]).toEqual([3, 1])
    expect(lost.state).toBe('rejected')
    pool.dispose()
  })

  it('counts as the end of the time steps that wait: drain() resolves', async () => {
    const { pool } = openPool({ maxDelayMs: 10_000 })
    const [a] = [pool.open(), pool.open()]
    const step = a.step(frames(1, 2, 3))
    const drained = pool.drain()
    a.close()
    await drained
    await expect(step).rejects.toThrow(coded('ERR_STREAM_CLOSED'))
    expect(pool.stats().waiting).toBe(0)
    pool.dispose()
  })
})

describe('dispose() of a pool', () => {
  it('resolves drain(), rejects every queued call and releases the network once', async () => {
    const { network, pool } = openPool()
    const [a, b] = [pool.open(), pool.open()]
    const calls = [a.step(frame(1)), a.state(), b.step(frames(1, 2))]
    const drained = pool.drain()
    pool.dispose()
    pool.dispose()
    await drained
    for (const call of calls) await expect(call).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    await endOfTurn()
    expect(network.rounds).toEqual([])
    expect(network.disposals).toBe(1)
    for (const stream of [a, b]) {
      expect(stream.closed).toBe(true)
      stream.close()
      expect(() => stream.reset()).toThrow(coded('ERR_STREAM_DISPOSED'))
      await expect(stream.state()).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    }
  })
})

describe('maxQueued', () => {
  it('counts time steps and not calls, and is free again when they are done', async () => {
    const { pool } = openPool({ maxQueued: 3 })
    const stream = pool.open()
    const taken = stream.step(frames(1, 2))
    await expect(stream.step(frames(3, 4))).rejects.toThrow(
      coded('ERR_STREAM_QUEUE_FULL', { maxQueued: 3, waiting: 2, steps: 2 }),
    )
    const last = stream.step(frame(3))
    // Changes and sequences of no steps take no place.
    const state = stream.state()
    const none = stream.step({ data: new Float32Array(0), shape: [0, 1] })
    await Promise.all([taken, last, none])
    expect(await state).toEqual([6, 3])
    expect([...(await stream.step(frames(1, 1, 1))).data]).toEqual([7, 4, 8, 5, 9, 6])
    expect(pool.stats()).toMatchObject({ refused: 1, steps: 6 })
    pool.dispose()
  })
})

describe('streamPoolOf', () => {
  it('gives the handles that the caller makes of streams, and opens none that cannot be made', async () => {
    let isBroken = false
    const pool = streamPoolOf(new SummingRows({}), { maxStreams: 1 }, (stream) => {
      if (isBroken) throw new Error('no handle')
      return { add: (value: number) => stream.step(frame(value)), close: () => stream.close() }
    })
    const counter = pool.open()
    expect((await counter.add(3)).data).toEqual(Float32Array.of(3, 1))
    counter.close()
    isBroken = true
    expect(() => pool.open()).toThrow('no handle')
    expect(pool.stats().streams).toBe(0)
    expect(() => streamPoolOf(new SummingRows({}), {}, 3 as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  })

  it.each<[string, string, unknown]>([
    ['ERR_INVALID_OPTION_TYPE', 'null', null],
    ['ERR_INVALID_OPTION_TYPE', 'text', 'network'],
    ['ERR_INVALID_OPTION', 'no sizes', {}],
    ['ERR_INVALID_OPTION', 'no input', { inputSize: 0, outputSize: 1, dtype: 'float32' }],
    ['ERR_INVALID_OPTION', 'half an output', { inputSize: 1, outputSize: 0.5, dtype: 'float32' }],
    ['ERR_INVALID_OPTION', 'integers', { inputSize: 1, outputSize: 1, dtype: 'int32' }],
    ['ERR_INVALID_ARGUMENT', 'no methods', { inputSize: 1, outputSize: 1, dtype: 'float32', step: () => undefined }],
  ])('refuses with %s a network that is or has %s', (code, _, network) => {
    expect(() => streamPoolOf(network as RowNetwork<RowSum>)).toThrow(coded(code))
  })

  it.each([null, 0, true, 'done', {}, []])(
    'rejects a step of which the network returns %o, and those after it are computed',
    async (result) => {
      const network = new SummingRows()
      const step = network.step.bind(network)
      const wrong = Object.assign(network, { step: () => result }) as unknown as SummingRows
      const pool = streamPoolOf<RowSum>(wrong)
      const stream = pool.open()
      await expect(stream.step(frame(1))).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
      Object.assign(network, { step })
      expect([...(await stream.step(frame(1))).data]).toEqual([1, 1])
      expect(pool.stats()).toMatchObject({ waiting: 0, failed: 1, steps: 1 })
      pool.dispose()
    },
  )

  it('refuses a pool whose frames no array can hold, with a code', () => {
    const network = Object.assign(new SummingRows(), { inputSize: Number.MAX_SAFE_INTEGER })
    expect(() => streamPoolOf(network as unknown as RowNetwork<RowSum>)).toThrow(coded('ERR_OUT_OF_MEMORY'))
  })

  it('computes in float64 for a network of float64', async () => {
    const network = Object.assign(new SummingRows(), { dtype: 'float64' })
    const pool = streamPoolOf(network as unknown as RowNetwork<RowSum>)
    const stream = pool.open()
    await expect(stream.step(frame(1))).rejects.toThrow(coded('ERR_DTYPE'))
    const { data } = await stream.step({ data: Float64Array.of(0.1), shape: [1] })
    expect(data).toEqual(Float64Array.of(0.1, 1))
    pool.dispose()
  })
})
