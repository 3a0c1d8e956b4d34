import { afterEach, describe, expect, it, vi } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { openWorkerPool, streamPoolOf, type WorkerLoss, type WorkerPool } from '../../src/index.js'
import type { WorkerPoolOptions } from '../../src/threads/worker_pool.js'
import { endOfTurn, type RowSum, SummingRows } from '../streams/summing_rows.js'
import { LinkedThread } from './linked_thread.js'

const frame = (value: number) => ({ data: Float32Array.of(value), shape: [1] })
const task = () => new Promise((resolve) => setTimeout(resolve, 1))

const opened: WorkerPool<RowSum>[] = []

afterEach(() => {
  vi.useRealTimers()
  for (const pool of opened.splice(0)) pool.dispose()
})

/** A pool of workers in this thread, each with a pool of two streams. */
async function openPool(options: Partial<WorkerPoolOptions> = {}, rows: object = {}) {
  const threads: LinkedThread[] = []
  const networks: SummingRows[] = []
  const start = () => {
    const network = new SummingRows(rows)
    const thread = new LinkedThread().serve(streamPoolOf<RowSum>(network, { maxStreams: 2 }))
    networks.push(network)
    threads.push(thread)
    return thread
  }
  const pool = await openWorkerPool<RowSum>({ workers: 2, start, ...options })
  opened.push(pool)
  return { pool, threads, networks, start }
}

const endedThread = (code = 1, error?: Error) => {
  const thread = new LinkedThread()
  setTimeout(() => thread.end(code, error))
  return thread
}

describe('a stream of a worker', () => {
  it('steps, reads, restores and resets its state in the order of its calls', async () => {
    const { pool, networks } = await openPool({ workers: 1 })
    const stream = pool.open()
    const reused = frame(5)
    const first = stream.step(reused)
    reused.data[0] = 100
    const state = stream.state()
    const given: [number, number] = [40, 7]
    const restored = stream.restore(given)
    given[0] = 0
    const second = stream.step(frame(2))
    stream.reset()
    const third = stream.step(frame(1))
    expect(stream.waiting).toBe(3)
    expect(await first).toEqual({ data: Float32Array.of(5, 1), shape: [2] })
    expect(await state).toEqual([5, 1])
    expect(await restored).toBeUndefined()
    expect([...(await second).data]).toEqual([42, 8])
    expect([...(await third).data]).toEqual([1, 1])
    expect(stream.waiting).toBe(0)
    expect(networks[0].rounds).toHaveLength(3)
    expect(pool.stats()).toMatchObject({ steps: 3, waiting: 0, streams: 1, refused: 0 })
  })

  it('steps sequences, and of no time steps too', async () => {
    const { pool } = await openPool({ workers: 1 })
    const stream = pool.open()
    expect(await stream.step({ data: Float32Array.of(1, 2), shape: [2, 1] })).toEqual({
      data: Float32Array.of(1, 1, 3, 2),
      shape: [2, 2],
    })
    expect(await stream.step({ data: new Float32Array(0), shape: [0, 1] })).toEqual({
      data: new Float32Array(0),
      shape: [0, 2],
    })
  })

  it('sends the calls of one turn as one message, and receives the results of a round as one', async () => {
    const { pool, threads } = await openPool({ workers: 1 })
    const streams = [pool.open(), pool.open()]
    const steps = streams.map((stream, index) => stream.step(frame(index)))
    await Promise.all(steps)
    expect(threads[0].sent).toHaveLength(1)
    // The first one reports that the worker is ready.
    expect(threads[0].received).toHaveLength(2)
  })

  it('returns each result in a buffer that no other result shares', async () => {
    const { pool } = await openPool({ workers: 1 })
    const streams = [pool.open(), pool.open()]
    const [one, other] = await Promise.all(streams.map((stream) => stream.step(frame(3))))
    expect(one.data.buffer).not.toBe(other.data.buffer)
    expect(one.data.buffer.byteLength).toBe(8)
  })

  it('passes on the refusals of the pool in the worker, and stays usable', async () => {
    const { pool } = await openPool({ workers: 1 })
    const stream = pool.open()
    await expect(stream.step({ data: new Float32Array(2), shape: [2] })).rejects.toThrow(coded('ERR_SHAPE'))
    await expect(stream.step({ data: new Float64Array(1), shape: [1] })).rejects.toThrow(coded('ERR_DTYPE'))
    await expect(stream.restore([1] as never)).rejects.toThrow(coded('ERR_SHAPE'))
    expect(await stream.state()).toEqual([0, 0])
    expect([...(await stream.step(frame(1))).data]).toEqual([1, 1])
  })

  it('refuses a frame that is not a host tensor and a state that cannot be cloned, and sends nothing', async () => {
    const { pool, threads } = await openPool({ workers: 1 })
    const stream = pool.open()
    await stream.state()
    const { length } = threads[0].sent
    for (const wrong of [null, [1], { data: [1], shape: [1] }, 'text'])
      await expect(stream.step(wrong as never)).rejects.toThrow(coded('ERR_NOT_A_TENSOR'))
    await expect(stream.step({ data: new Uint8Array(1), shape: [1] } as never)).rejects.toThrow(coded('ERR_DTYPE'))
    await expect(stream.restore((() => {}) as never)).rejects.toThrow(coded('ERR_NOT_A_STATE'))
    expect(threads[0].sent).toHaveLength(length)
    expect(stream.waiting).toBe(0)
    expect(await stream.state()).toEqual([0, 0])
  })

  it('takes maxQueued steps and no more; the next one is taken when a step is done', async () => {
    const { pool } = await openPool({ workers: 1, maxQueued: 2 })
    const stream = pool.open()
    const steps = [stream.step(frame(1)), stream.step(frame(2))]
    await expect(stream.step(frame(4))).rejects.toThrow(coded('ERR_STREAM_QUEUE_FULL', { maxQueued: 2, waiting: 2 }))
    await Promise.all(steps)
    expect([...(await stream.step(frame(8))).data]).toEqual([11, 3])
    expect(pool.stats()).toMatchObject({ refused: 1, steps: 3 })
  })

  it('rejects its calls when it is closed; its place is free, and later answers are ignored', async () => {
    const { pool, threads } = await openPool({ workers: 1 })
    const [stream, other] = [pool.open(), pool.open()]
    expect(() => pool.open()).toThrow(coded('ERR_POOL_FULL', { maxStreams: 2 }))
    const calls = [stream.step(frame(50)), stream.state(), stream.restore([1, 1])]
    await endOfTurn()
    stream.close()
    stream[Symbol.dispose]()
    for (const call of calls) await expect(call).rejects.toThrow(coded('ERR_STREAM_CLOSED'))
    await expect(stream.step(frame(1))).rejects.toThrow(coded('ERR_STREAM_CLOSED'))
    await expect(stream.state()).rejects.toThrow(coded('ERR_STREAM_CLOSED'))
    await expect(stream.restore([0, 0])).rejects.toThrow(coded('ERR_STREAM_CLOSED'))
    expect(() => stream.reset()).toThrow(coded('ERR_STREAM_CLOSED'))
    const next = pool.open()
    expect([...(await next.step(frame(1))).data]).toEqual([1, 1])
    expect([...(await other.step(frame(2))).data]).toEqual([2, 1])
    expect(pool.stats()).toMatchObject({ streams: 2, waiting: 0, maxStreams: 2 })
    expect(threads[0].refs).toBe(0)
  })

  it('prints how many steps wait and whether it is closed', async () => {
    const { pool } = await openPool({ workers: 1 })
    const stream = pool.open()
    const step = stream.step(frame(1))
    expect(String(stream)).toMatch(/WorkerStream.*waiting.*1.*open/)
    expect(String(pool)).toMatch(/WorkerPool.*workers.*1.*streams.*1.*waiting.*1.*live/)
    await step
    stream.close()
    expect(String(stream)).toMatch(/waiting.*0.*closed/)
    pool.dispose()
    expect(String(pool)).toContain('disposed')
  })
})

describe('a pool of workers', () => {
  it('opens a stream in the worker with the fewest, and refuses one beyond those of all', async () => {
    const { pool } = await openPool()
    const streams = [pool.open(), pool.open(), pool.open()]
    expect(pool.stats().workers.map(({ streams }) => streams)).toEqual([2, 1])
    streams[0].close()
    streams[2].close()
    pool.open()
    expect(pool.stats().workers.map(({ streams }) => streams)).toEqual([1, 1])
    pool.open()
    pool.open()
    expect(() => pool.open()).toThrow(coded('ERR_POOL_FULL', { maxStreams: 4 }))
    expect(pool.stats()).toMatchObject({ streams: 4, maxStreams: 4 })
  })

  it('prefers, of workers with equally many streams, that with fewer steps that wait', async () => {
    const { pool } = await openPool({}, { isElsewhere: true })
    const [first] = [pool.open(), pool.open()]
    const step = first.step(frame(1))
    pool.open()
    expect(pool.stats().workers).toMatchObject([
      { streams: 1, waiting: 1 },
      { streams: 2, waiting: 0 },
    ])
    pool.dispose()
    await expect(step).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
  })

  it('keeps its threads referenced while a call waits, and no longer', async () => {
    const { pool, threads } = await openPool({ workers: 1 })
    expect(threads[0].refs).toBe(0)
    const stream = pool.open()
    const step = stream.step(frame(1))
    expect(threads[0].refs).toBe(1)
    await step
    expect(threads[0].refs).toBe(0)
    const state = stream.state()
    expect(threads[0].refs).toBe(1)
    await state
    expect(threads[0].refs).toBe(0)
  })

  it('reports the statistics of the pools in its workers', async () => {
    const { pool } = await openPool()
    const stream = pool.open()
    await stream.step({ data: Float32Array.of(1, 2, 3), shape: [3, 1] })
    expect(await pool.poolStats()).toMatchObject([
      { streams: 1, maxStreams: 2, rounds: 3, steps: 3 },
      { streams: 0, maxStreams: 2, rounds: 0, steps: 0 },
    ])
  })

  it('drains when no step waits, and when it is disposed', async () => {
    const { pool } = await openPool()
    await pool.drain()
    const [a, b] = [pool.open(), pool.open()]
    const order: string[] = []
    const steps = [a.step(frame(1)), b.step(frame(2))].map((step) => step.then(() => order.push('step')))
    const drained = pool.drain().then(() => order.push('drained'))
    await Promise.all([...steps, drained])
    expect(order).toEqual(['step', 'step', 'drained'])
    const step = a.step(frame(1))
    const again = pool.drain()
    pool.dispose()
    await again
    await expect(step).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
  })

  it('drains when the stream whose step waits is closed', async () => {
    const { pool } = await openPool({}, { isElsewhere: true })
    const stream = pool.open()
    const step = stream.step(frame(1))
    const drained = pool.drain()
    stream.close()
    await drained
    await expect(step).rejects.toThrow(coded('ERR_STREAM_CLOSED'))
  })

  it('refuses everything after dispose(), which ends each thread once', async () => {
    const { pool, threads } = await openPool()
    const stream = pool.open()
    const state = stream.state()
    pool.dispose()
    pool[Symbol.dispose]()
    await expect(state).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    await expect(stream.step(frame(1))).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    expect(stream.closed).toBe(true)
    stream.close()
    expect(() => pool.open()).toThrow(coded('ERR_STREAM_DISPOSED'))
    expect(await pool.poolStats()).toEqual([])
    await task()
    expect(threads.map(({ terminations }) => terminations)).toEqual([1, 1])
    expect(pool.stats()).toMatchObject({ lostWorkers: 0, streams: 0, maxStreams: 0 })
  })
})

describe('a message of a worker', () => {
  it('is left to the program where it is none of the pool', async () => {
    const { pool, threads } = await openPool({ workers: 1 })
    const step = pool.open().step(frame(1))
    for (const message of [undefined, null, 1, 'text', {}, [], { ready: 'yes' }, { numbers: [0] }])
      threads[0].say(message)
    expect([...(await step).data]).toEqual([1, 1])
  })

  it('ends that worker alone where it cannot be read', async () => {
    const losses: WorkerLoss[] = []
    const { pool, threads } = await openPool({ onWorkerLost: (loss) => losses.push(loss) })
    const [lost, kept] = [pool.open(), pool.open()]
    const call = lost.step(frame(1))
    // An answer to an unknown call, and a tensor without elements.
    for (const numbers of [Int32Array.of(1, 99, 0), Int32Array.of(1, 1, 1, 0, 1, 7)]) {
      threads[0].say({ numbers, elements: [], values: [] })
    }
    await expect(call).rejects.toThrow(coded('ERR_STREAM_WORKER_LOST'))
    expect([...(await kept.step(frame(2))).data]).toEqual([2, 1])
    expect(losses).toEqual([{ streams: 1, reason: coded('ERR_BROKEN_INVARIANT') }])
    expect(threads[0].terminations).toBe(1)
  })
})

describe('a worker that ends', () => {
  it('takes its streams along, and another one is started in its place', async () => {
    const losses: WorkerLoss[] = []
    const { pool, threads } = await openPool({ onWorkerLost: (loss) => losses.push(loss) })
    const [lost, kept] = [pool.open(), pool.open()]
    const calls = [lost.step(frame(1)), lost.state()]
    const step = kept.step(frame(2))
    const reason = new Error('out of memory')
    threads[0].end(1, reason)
    for (const call of calls) await expect(call).rejects.toThrow(coded('ERR_STREAM_WORKER_LOST', { cause: reason }))
    await expect(lost.step(frame(1))).rejects.toThrow(coded('ERR_STREAM_WORKER_LOST'))
    expect(() => lost.reset()).toThrow(coded('ERR_STREAM_WORKER_LOST'))
    expect(lost.closed).toBe(true)
    lost.close()
    expect([...(await step).data]).toEqual([2, 1])
    expect(losses).toEqual([{ streams: 1, reason }])
    expect(threads).toHaveLength(3)
    await task()
    expect(pool.stats()).toMatchObject({ lostWorkers: 1, lostStreams: 1, streams: 1, maxStreams: 4, waiting: 0 })
    expect([...(await pool.open().step(frame(1))).data]).toEqual([1, 1])
  })

  it('has ERR_WORKER_ENDED with its exit code as the reason where it threw nothing', async () => {
    const losses: WorkerLoss[] = []
    const { pool, threads } = await openPool({ workers: 1, onWorkerLost: (loss) => losses.push(loss) })
    const drained = pool.drain()
    threads[0].end(7)
    await drained
    expect(losses).toEqual([{ streams: 0, reason: coded('ERR_WORKER_ENDED') }])
    expect(String(losses[0].reason)).toContain('exit code is 7')
    expect(() => pool.open()).toThrow(coded('ERR_NO_WORKER'))
  })

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('cannot log')
      },
    ],
    ['rejects', () => Promise.reject(new Error('cannot log'))],
  ])('is replaced where onWorkerLost %s, which is printed', async (_, onWorkerLost) => {
    const print = vi.spyOn(console, 'error').mockReturnValue()
    const { pool, threads } = await openPool({ onWorkerLost: onWorkerLost as () => void })
    threads[0].end(7)
    await task()
    expect(print).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('cannot log'))
    print.mockRestore()
    expect(threads).toHaveLength(3)
    expect([...(await pool.open().step(frame(1))).data]).toEqual([1, 1])
  })

  it('ends the wait of drain() with its steps', async () => {
    const { pool, threads } = await openPool({ workers: 1 }, { isElsewhere: true })
    const step = pool.open().step(frame(1))
    const drained = pool.drain()
    threads[0].end(1)
    await drained
    await expect(step).rejects.toThrow(coded('ERR_STREAM_WORKER_LOST'))
  })

  it('is started again after pauses that double while threads end before they are ready', async () => {
    const losses: WorkerLoss[] = []
    const network = new SummingRows()
    const healthy = () => new LinkedThread().serve(streamPoolOf<RowSum>(network, { maxStreams: 2 }))
    const first = healthy()
    const starts: (() => LinkedThread)[] = [
      () => first,
      () => endedThread(3),
      () => {
        throw new Error('no more threads')
      },
      () => endedThread(4),
      healthy,
    ]
    let started = 0
    const start = () => starts[started++]()
    const pool = await openWorkerPool<RowSum>({ workers: 1, start, onWorkerLost: (loss) => losses.push(loss) })
    opened.push(pool)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    first.end(2)
    expect(started).toBe(2)
    const pauses: number[] = []
    for (const expected of [3, 4, 5]) {
      let pause = 0
      // The thread that was started ends within the first millisecond.
      await vi.advanceTimersByTimeAsync(1)
      while (started < expected) {
        await vi.advanceTimersByTimeAsync(1)
        pause++
      }
      pauses.push(pause)
    }
    await vi.advanceTimersByTimeAsync(1)
    expect(pauses.map((pause) => Math.round(pause / 100))).toEqual([1, 2, 4])
    expect(losses.map(({ reason }) => String(reason))).toEqual([
      expect.stringContaining('exit code is 2'),
      expect.stringContaining('exit code is 3'),
      'Error: no more threads',
      expect.stringContaining('exit code is 4'),
    ])
    expect(pool.stats()).toMatchObject({ maxStreams: 2, workers: [{ state: 'ready' }] })
    pool.dispose()
    expect(vi.getTimerCount()).toBe(1) // the exit of the thread that was ended
  })

  it('is not started again after dispose()', async () => {
    const { pool, threads } = await openPool({ workers: 1 })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    pool.dispose()
    threads[0].end(1)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(threads).toHaveLength(1)
    expect(pool.stats().lostWorkers).toBe(0)
  })
})

describe('openWorkerPool', () => {
  it('rejects with the error of a worker that ends before it is ready, and ends the others', async () => {
    const reason = new Error('no such model')
    const threads: LinkedThread[] = []
    const start = () => {
      const thread = threads.length === 1 ? endedThread(1, reason) : new LinkedThread()
      threads.push(thread)
      return thread
    }
    await expect(openWorkerPool({ workers: 3, start })).rejects.toBe(reason)
    expect(threads.map(({ terminations }) => terminations)).toEqual([1, 0, 1])
    await expect(openWorkerPool({ workers: 1, start: () => endedThread(5) })).rejects.toThrow(coded('ERR_WORKER_ENDED'))
  })

  it('rejects with the error of a start that throws, and ends the workers that were started', async () => {
    const reason = new Error('no more threads')
    const threads: LinkedThread[] = []
    const start = () => {
      if (threads.length === 2) throw reason
      const thread = new LinkedThread()
      threads.push(thread)
      return thread
    }
    await expect(openWorkerPool({ workers: 3, start })).rejects.toBe(reason)
    expect(threads.map(({ terminations }) => terminations)).toEqual([1, 1])
    await task()
  })

  it.each<[string, unknown]>([
    ['ERR_INVALID_OPTION_TYPE', null],
    ['ERR_INVALID_OPTION_TYPE', { workers: 1 }],
    ['ERR_INVALID_OPTION_TYPE', { workers: '1', start: () => new LinkedThread() }],
    ['ERR_INVALID_OPTION', { workers: 0, start: () => new LinkedThread() }],
    ['ERR_INVALID_OPTION', { workers: 1025, start: () => new LinkedThread() }],
    ['ERR_INVALID_OPTION', { workers: 1.5, start: () => new LinkedThread() }],
    ['ERR_INVALID_OPTION', { workers: 1, start: () => new LinkedThread(), maxQueued: 0 }],
    ['ERR_INVALID_OPTION_TYPE', { workers: 1, start: () => new LinkedThread(), onWorkerLost: 'log' }],
    ['ERR_INVALID_ARGUMENT', { workers: 1, start: async () => new LinkedThread() }],
    ['ERR_UNKNOWN_OPTION', { workers: 1, start: () => new LinkedThread(), threads: 1 }],
  ])('rejects with %s %o', async (code, options) => {
    await expect(openWorkerPool(options as WorkerPoolOptions)).rejects.toThrow(coded(code))
  })
})
