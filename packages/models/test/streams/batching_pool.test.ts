import { afterEach, describe, expect, it, vi } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { frame, frames, openPool } from './summed_frames.js'
import { endOfTurn } from './summing_rows.js'

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
