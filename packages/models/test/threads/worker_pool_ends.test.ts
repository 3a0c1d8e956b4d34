import { describe, expect, it, vi } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { openWorkerPool, streamPoolOf, type WorkerLoss } from '../../src/index.js'
import type { WorkerPoolOptions } from '../../src/threads/worker_pool.js'
import { type RowSum, SummingRows } from '../streams/summing_rows.js'
import { LinkedThread } from './linked_thread.js'
import { usesWorkerPools } from './worker_pools.js'

const frame = (value: number) => ({ data: Float32Array.of(value), shape: [1] })
const task = () => new Promise((resolve) => setTimeout(resolve, 1))

const { opened, openPool } = usesWorkerPools()

const endedThread = (code = 1, error?: Error) => {
  const thread = new LinkedThread()
  setTimeout(() => thread.end(code, error))
  return thread
}

describe('a message of a worker', () => {
  it('is left to the program if it is none of the pool', async () => {
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
