import { afterEach, describe, expect, it, vi } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { type RowNetwork, streamPoolOf } from '../../src/index.js'
import { frame, frames, openPool } from './summed_frames.js'
import { endOfTurn, type RowSum, SummingRows } from './summing_rows.js'

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
