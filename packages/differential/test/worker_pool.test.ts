import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'
import { coded } from '../../../scripts/testing/coded.mjs'
import { cases, crash, frame, program, usesPools } from './pools_of_workers.js'

const { openPool, recovered } = usesPools()

describe.each(cases)('a pool of workers on $name $weights', (executor) => {
  beforeAll(() => bundleProgram(fileURLToPath(new URL('./programs/stream_worker.ts', import.meta.url)), program))

  it('gives the outputs and states of separate streams', async () => {
    const { lstm, params, pool } = await openPool(executor)
    const streams = Array.from({ length: 4 }, () => pool.open())
    expect(pool.stats().workers.map(({ streams }) => streams)).toEqual([2, 2])
    for (const [index, stream] of streams.entries()) {
      const own = lstm.stream(params)
      const reused = frame(index)
      const expected = [0, 1, 2].map((t) => own.stepSync({ data: frame(index + t).data, shape: [1, 3] }).data)
      const results = [0, 1].map((t) => {
        reused.data.set(frame(index + t).data)
        return stream.step(reused)
      })
      const saved = stream.state()
      stream.reset()
      void stream.step(frame(50))
      await stream.restore(await saved)
      results.push(stream.step(frame(index + 2)))
      for (const [t, { data, shape }] of (await Promise.all(results)).entries()) {
        expect(shape).toEqual([20])
        for (const [k, value] of data.entries()) expect(Math.abs(value - expected[t][k])).toBeLessThan(1e-6)
      }
      const { h, c } = await stream.state()
      const state = await own.state()
      for (const [mine, theirs] of [
        [h, state.h],
        [c!, state.c!],
      ] as const) {
        expect(mine.shape).toEqual(theirs.shape)
        for (const [k, value] of mine.data.entries()) expect(Math.abs(value - theirs.data[k])).toBeLessThan(1e-6)
      }
      own.dispose()
    }
    await pool.drain()
    expect(pool.stats()).toMatchObject({ streams: 4, maxStreams: 6, waiting: 0, steps: 16, refused: 0, lostWorkers: 0 })
    expect((await pool.poolStats()).map(({ steps }) => steps)).toEqual([8, 8])
  })

  it('loses the streams of a worker that ends, and no others', async () => {
    const { pool, losses, started } = await openPool(executor)
    const [doomed, safe, beside, other] = [pool.open(), pool.open(), pool.open(), pool.open()]
    await Promise.all([doomed.step(frame(1)), safe.step(frame(1))])
    const calls = [doomed.step(crash(1000)), beside.step(frame(1)), doomed.state()]
    const goesOn = [safe.step(frame(2)), other.step(frame(2))]
    for (const call of calls)
      await expect(call).rejects.toThrow(coded('ERR_STREAM_WORKER_LOST', { cause: coded('ERR_WORKER_ENDED') }))
    for (const call of goesOn) expect((await call).shape).toEqual([20])
    await expect(doomed.step(frame(2))).rejects.toThrow(coded('ERR_STREAM_WORKER_LOST'))
    expect(() => doomed.reset()).toThrow(coded('ERR_STREAM_WORKER_LOST'))
    expect([doomed.closed, doomed.waiting, safe.closed]).toEqual([true, 0, false])
    expect(losses).toEqual([{ streams: 2, reason: coded('ERR_WORKER_ENDED') }])
    await recovered(pool)
    const again = pool.open()
    expect((await again.step(frame(3))).shape).toEqual([20])
    expect((await safe.step(frame(3))).shape).toEqual([20])
    expect(pool.stats()).toMatchObject({ streams: 3, lostWorkers: 1, lostStreams: 2, waiting: 0 })
    expect(started()).toBe(3)
  })

  it('reports the error that a worker died of', async () => {
    const { pool, losses } = await openPool(executor)
    const stream = pool.open()
    await stream.step(crash(2000)).catch(() => undefined)
    await expect(
      (async () => {
        for (;;) await stream.step(frame(1))
      })(),
    ).rejects.toThrow(
      coded('ERR_STREAM_WORKER_LOST', { cause: expect.objectContaining({ message: 'a defect of the program' }) }),
    )
    expect(losses).toMatchObject([{ streams: 1, reason: { message: 'a defect of the program' } }])
  })
})
