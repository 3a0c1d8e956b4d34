import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { CudnnLSTM } from '../../src/index.js'
import { floats } from '../small_models.js'
import { withQueuedStepper } from './with_queued_stepper.js'

const SIZES = { numLayers: 2, numUnits: 3, inputSize: 2 }
const frame = (start = 0) => ({ data: Float32Array.of(Math.sin(start), Math.cos(start)), shape: [2] })
const turn = () => new Promise((resolve) => setTimeout(resolve, 0))

function openPool(backend: Backend, options: object = {}) {
  const lstm = new CudnnLSTM(backend, SIZES)
  const params = lstm.createParams({ seed: 1 })
  return { lstm, params, pool: lstm.streamPool(params, { maxStreams: 4, ...options }) }
}

describe.each([
  ['with a stepper', () => openReferenceBackend() as Backend],
  ['with a queued one', withQueuedStepper],
])('a pool of streams on an executor %s', (_, open) => {
  it('makes one batched step of all streams that have input in a turn', async () => {
    const { pool } = openPool(open())
    const streams = [pool.open(), pool.open(), pool.open()]
    const outputs = await Promise.all(streams.map((stream, k) => stream.step(frame(k))))
    expect(outputs.map(({ shape }) => shape)).toEqual([[3], [3], [3]])
    expect(pool.stats()).toMatchObject({ streams: 3, maxStreams: 4, waiting: 0, rounds: 1, steps: 3 })
    expect(pool.stats().batchSize).toMatchObject({ mean: 3, max: 3 })
    expect(pool.stats().latencyMs.p99).toBeGreaterThan(0)
    pool.dispose()
  })

  it.each([3, 5, 7])('steps all of its %i streams at once', async (maxStreams) => {
    const { lstm, params, pool } = openPool(open(), { maxStreams })
    const streams = Array.from({ length: maxStreams }, () => pool.open())
    const single = lstm.stream(params)
    for (let round = 0; round < 2; round++) {
      const outputs = await Promise.all(streams.map((stream) => stream.step(frame(round))))
      const expected = await single.step({ ...frame(round), shape: [1, 2] })
      for (const { data } of outputs)
        expect([...data]).toEqual([...expected.data].map((value) => expect.closeTo(value, 6)))
    }
    expect(pool.stats()).toMatchObject({ rounds: 2, steps: 2 * maxStreams })
    single.dispose()
    pool.dispose()
  })

  it('returns arrays that hold while later rounds run, and whose buffer no transfer takes from other results', async () => {
    const { pool } = openPool(open())
    const streams = [pool.open(), pool.open()]
    const [a, b] = await Promise.all(streams.map((stream, k) => stream.step(frame(k))))
    const values = [...b.data]
    await Promise.all(streams.map((stream, k) => stream.step(frame(k + 5))))
    try {
      structuredClone(a.data, { transfer: [a.data.buffer as ArrayBuffer] })
    } catch {
      // Node.js 20 copies where later releases refuse.
    }
    expect([...b.data]).toEqual(values)
    pool.dispose()
  })

  it('lets a stream of many frames take rounds without delaying the others', async () => {
    const { pool } = openPool(open())
    const [long, short] = [pool.open(), pool.open()]
    const order: string[] = []
    const all = long.step(floats(Float32Array, 5, 2)).then(({ shape }) => order.push(`long ${shape}`))
    expect(long.waiting).toBe(5)
    const one = short.step(frame()).then(() => order.push('short'))
    await Promise.all([all, one])
    expect(order).toEqual(['short', 'long 5,3'])
    expect(pool.stats()).toMatchObject({ rounds: 5, steps: 6 })
    pool.dispose()
  })

  it('advances at most maxBatch streams at a time, the longest waiting first', async () => {
    const { pool } = openPool(open(), { maxBatch: 2 })
    const order: number[] = []
    const streams = [0, 1, 2].map(() => pool.open())
    await Promise.all(streams.map((stream, k) => stream.step(floats(Float32Array, 2, 2)).then(() => order.push(k))))
    expect(order).toEqual([0, 1, 2])
    expect(pool.stats()).toMatchObject({ rounds: 3, batchSize: { max: 2, mean: 2 } })
    pool.dispose()
  })

  it('keeps the order of the calls of a stream, in flight too', async () => {
    const { lstm, params, pool } = openPool(open())
    const own = lstm.stream(params)
    const stream = pool.open()
    const first = stream.step(frame(1))
    const state = stream.state()
    const second = stream.step(frame(2))
    stream.reset()
    const again = stream.step(frame(1))
    stream.restore({ h: floats(Float32Array, 2, 1, 3), c: floats(Float32Array, 2, 1, 3) })
    const restored = await stream.state()
    const as2 = ({ data }: { data: Float32Array }) => ({ data, shape: [1, 2] })
    const expected = await own.step(as2(frame(1)))
    for (const [k, value] of (await first).data.entries()) expect(value).toBeCloseTo(expected.data[k], 6)
    expect((await state).h.shape).toEqual([2, 1, 3])
    for (const [k, value] of (await own.state()).h.data.entries()) expect((await state).h.data[k]).toBeCloseTo(value, 6)
    for (const [k, value] of (await own.step(as2(frame(2)))).data.entries()) {
      expect((await second).data[k]).toBeCloseTo(value, 6)
    }
    expect((await again).data).toEqual((await first).data)
    expect(restored.h).toEqual(floats(Float32Array, 2, 1, 3))
    pool.dispose()
  })

  it('takes backend tensors in the order of the calls, and frames whose memory is used again', async () => {
    const backend = open()
    const { pool } = openPool(backend)
    const [a, b] = [pool.open(), pool.open()]
    const reused = frame(2)
    const tensor = backend.tensor(frame(1))
    const mixed = [a.step(tensor), a.step(reused)]
    reused.data.fill(7)
    const plain = [b.step(frame(1)), b.step(frame(2))]
    expect((await Promise.all(mixed)).map(({ data }) => data)).toEqual(
      (await Promise.all(plain)).map(({ data }) => data),
    )
    const gone = backend.tensor(frame(1))
    const failing = a.step(gone)
    gone.dispose()
    await expect(failing).resolves.toBeDefined()
    await expect(a.step(gone)).rejects.toThrow(coded('ERR_TENSOR_DISPOSED'))
    pool.dispose()
  })

  it('refuses input beyond maxQueued, and queues no part of it', async () => {
    const { pool } = openPool(open(), { maxQueued: 3 })
    const [flooding, calm] = [pool.open(), pool.open()]
    const taken = [flooding.step(frame()), flooding.step(floats(Float32Array, 2, 2))]
    await expect(flooding.step(frame())).rejects.toThrow(coded('ERR_STREAM_QUEUE_FULL'))
    await expect(calm.step(floats(Float32Array, 4, 2))).rejects.toThrow(coded('ERR_STREAM_QUEUE_FULL'))
    await Promise.all([...taken, calm.step(frame())])
    await flooding.step(frame())
    expect(pool.stats()).toMatchObject({ refused: 2, steps: 5, waiting: 0 })
    pool.dispose()
  })

  it('gives the row of a closed stream to the next one, which starts from zeros', async () => {
    const { pool } = openPool(open(), { maxStreams: 1 })
    const first = pool.open()
    const output = await first.step(frame())
    expect(() => pool.open()).toThrow(coded('ERR_POOL_FULL'))
    const waiting = [first.step(frame()), first.step(frame()), first.state()]
    first.close()
    first.close()
    for (const call of waiting) await expect(call).rejects.toThrow(coded('ERR_STREAM_CLOSED'))
    await expect(first.step(frame())).rejects.toThrow(coded('ERR_STREAM_CLOSED'))
    await expect(first.state()).rejects.toThrow(coded('ERR_STREAM_CLOSED'))
    expect(() => first.reset()).toThrow(coded('ERR_STREAM_CLOSED'))
    expect(() => first.restore({} as never)).toThrow(coded('ERR_STREAM_CLOSED'))
    expect(first.closed).toBe(true)
    const second = pool.open()
    expect((await second.step(frame())).data).toEqual(output.data)
    const state = await second.state()
    const next = await second.step(frame(3))
    second.close()
    expect((await pool.open(state).step(frame(3))).data).toEqual(next.data)
    pool.dispose()
  })

  it('starts the next stream of a row from zeros, also while a round computes the row', async () => {
    const { pool } = openPool(open(), { maxStreams: 2 })
    const [a, b] = [pool.open(), pool.open()]
    const steps = [a.step(frame()), b.step(frame())]
    await turn()
    b.close()
    const c = pool.open()
    const first = c.step(frame())
    const results = await Promise.allSettled(steps)
    expect(results[0].status).toBe('fulfilled')
    expect((await first).data).toEqual((await steps[0]).data)
    expect(pool.stats()).toMatchObject({ streams: 2, waiting: 0 })
    pool.dispose()
  })

  it('rejects the steps of a round that fails, and the streams go on', async () => {
    const { pool, params } = openPool(open())
    const stream = pool.open()
    params.dispose()
    await expect(stream.step(floats(Float32Array, 3, 2))).rejects.toThrow(coded('ERR_TENSOR_DISPOSED'))
    await expect(stream.step(frame())).rejects.toThrow(coded('ERR_TENSOR_DISPOSED'))
    expect(pool.stats()).toMatchObject({ failed: 2, waiting: 0 })
    await pool.drain()
    pool.dispose()
  })

  it('dispose rejects queued steps, and every later call is refused', async () => {
    const backend = open()
    const { pool } = openPool(backend)
    const stream = pool.open()
    const waiting = [stream.step(frame()), stream.step(frame())]
    pool.dispose()
    pool.dispose()
    for (const step of waiting) await expect(step).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    await expect(stream.step(frame())).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    expect(() => pool.open()).toThrow(coded('ERR_STREAM_DISPOSED'))
    expect(() => stream.restore({} as never)).toThrow(coded('ERR_STREAM_DISPOSED'))
    await pool.drain()
    expect(backend.stats().steppers).toBe(0)
  })

  it('refuses frames and states that do not fit, before anything changes', async () => {
    const { pool } = openPool(open())
    const stream = pool.open()
    for (const [wrong, code] of [
      [floats(Float32Array, 3), 'ERR_SHAPE'],
      [floats(Float32Array, 1, 1, 2), 'ERR_SHAPE'],
      [floats(Float64Array, 2), 'ERR_DTYPE'],
      [null, 'ERR_NOT_A_TENSOR'],
      [['1', '2'], 'ERR_NOT_A_TENSOR'],
    ] as const) {
      await expect(stream.step(wrong as never)).rejects.toThrow(coded(code))
    }
    expect(() => stream.restore(null as never)).toThrow(coded('ERR_NOT_A_STATE'))
    expect(() => stream.restore({ h: floats(Float32Array, 2, 2, 3), c: undefined })).toThrow(coded('ERR_SHAPE'))
    expect(() => pool.open({ h: floats(Float32Array, 2, 1, 3), c: undefined })).toThrow(coded('ERR_NOT_A_TENSOR'))
    expect((await stream.step(floats(Float32Array, 0, 2))).shape).toEqual([0, 3])
    expect(pool.stats()).toMatchObject({ streams: 1, waiting: 0, steps: 0 })
    pool.dispose()
  })
})
