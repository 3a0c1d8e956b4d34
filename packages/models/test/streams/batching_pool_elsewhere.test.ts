import { afterEach, describe, expect, it, vi } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { frame, frames, openPool } from './summed_frames.js'
import { endOfTurn } from './summing_rows.js'

afterEach(() => {
  vi.useRealTimers()
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
