import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { frame, frames, openPool } from './summed_frames.js'
import { endOfTurn } from './summing_rows.js'

afterEach(() => {
  vi.useRealTimers()
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
