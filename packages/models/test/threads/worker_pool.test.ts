import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { usesWorkerPools } from './worker_pools.js'

const frame = (value: number) => ({ data: Float32Array.of(value), shape: [1] })
const task = () => new Promise((resolve) => setTimeout(resolve, 1))

const { openPool } = usesWorkerPools()

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
