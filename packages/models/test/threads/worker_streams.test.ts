import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { endOfTurn } from '../streams/summing_rows.js'
import { usesWorkerPools } from './worker_pools.js'

const frame = (value: number) => ({ data: Float32Array.of(value), shape: [1] })

const { openPool } = usesWorkerPools()

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
