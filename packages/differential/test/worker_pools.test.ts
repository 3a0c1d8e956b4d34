import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { CudnnLSTM, openWorkerPool, serveStreams } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { beforeAll, describe, expect, it } from 'vitest'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'
import { coded } from '../../../scripts/testing/coded.mjs'
import { cases, crash, env, frame, program, SIZES, usesPools } from './pools_of_workers.js'
import type { StreamWorkerData } from './programs/stream_worker.js'

const { opened, openPool } = usesPools()

describe('a pool of workers', () => {
  const reference = cases[0]
  beforeAll(() => bundleProgram(fileURLToPath(new URL('./programs/stream_worker.ts', import.meta.url)), program))

  it('passes on the refusals of the pool in the worker, and serves later steps', async () => {
    const { pool } = await openPool(reference)
    const stream = pool.open()
    await expect(stream.step({ data: new Float32Array(2), shape: [2] })).rejects.toThrow(
      coded('ERR_SHAPE', { name: 'RangeError' }),
    )
    await expect(stream.step({ data: new Float64Array(3), shape: [3] } as never)).rejects.toThrow(coded('ERR_DTYPE'))
    await expect(stream.step([1, 2, 3] as never)).rejects.toThrow(coded('ERR_NOT_A_TENSOR'))
    const { h, c } = await stream.state()
    await expect(stream.restore({ h: { data: h.data, shape: [40] }, c })).rejects.toThrow(coded('ERR_SHAPE'))
    await expect(stream.restore({} as never)).rejects.toThrow(coded('ERR_NOT_A_STATE'))
    await expect(stream.step({ data: new Uint8Array(3), shape: [3] } as never)).rejects.toThrow(coded('ERR_DTYPE'))
    await expect(stream.restore((() => 0) as never)).rejects.toThrow(coded('ERR_NOT_A_STATE'))
    expect((await stream.step({ data: new Float32Array(6), shape: [2, 3] })).shape).toEqual([2, 20])
  })

  it('bounds its streams and the steps that wait in each', async () => {
    const { pool } = await openPool(reference, { maxQueued: 2 })
    const streams = Array.from({ length: 6 }, () => pool.open())
    expect(() => pool.open()).toThrow(coded('ERR_POOL_FULL', { maxStreams: 6 }))
    const [stream] = streams as [(typeof streams)[number]]
    const taken = [stream.step(frame(0)), stream.step(frame(1))]
    await expect(stream.step(frame(2))).rejects.toThrow(coded('ERR_STREAM_QUEUE_FULL', { waiting: 2 }))
    await Promise.all(taken)
    const waits = stream.step(frame(3))
    stream.close()
    await expect(waits).rejects.toThrow(coded('ERR_STREAM_CLOSED'))
    await expect(stream.step(frame(3))).rejects.toThrow(coded('ERR_STREAM_CLOSED'))
    expect(pool.stats()).toMatchObject({ streams: 5, waiting: 0, refused: 1 })
    expect((await pool.open().step(frame(4))).shape).toEqual([20])
  })

  it('rejects waiting calls when it is disposed', async () => {
    const { pool } = await openPool(reference)
    const stream = pool.open()
    const calls = [stream.step(frame(0)), stream.state(), pool.poolStats()]
    const drained = pool.drain()
    pool.dispose()
    pool.dispose()
    for (const call of calls) await expect(call).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    await drained
    expect(() => pool.open()).toThrow(coded('ERR_STREAM_DISPOSED'))
  })

  it('rejects with the error of a worker that ends before it is ready', async () => {
    const start = () => new Worker('throw new RangeError("no weights here")', { eval: true })
    await expect(openWorkerPool({ workers: 2, start })).rejects.toThrow('no weights here')
    const silent = () => new Worker('', { eval: true })
    await expect(openWorkerPool({ workers: 1, start: silent })).rejects.toThrow(coded('ERR_WORKER_ENDED'))
  })

  it('has no worker while those that died start again', async () => {
    let starts = 0
    const { pool } = await (async () => {
      const backend = openReferenceBackend()
      const lstm = new CudnnLSTM(backend, SIZES)
      const params = await lstm.shareParams(lstm.createParams({ seed: 1 }))
      const workerData: StreamWorkerData = { executor: 'reference', sizes: SIZES, params, maxStreams: 3 }
      // The first thread in place of one that died fails, the second serves.
      const start = () =>
        ++starts === 2
          ? new Worker('throw new Error("not yet")', { eval: true })
          : new Worker(program, { env, workerData })
      return { pool: await openWorkerPool({ workers: 1, start }) }
    })()
    opened.push(pool)
    await expect(pool.open().step(crash(1000))).rejects.toThrow(coded('ERR_STREAM_WORKER_LOST'))
    expect(() => pool.open()).toThrow(coded('ERR_NO_WORKER'))
    while (pool.stats().maxStreams === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    expect((await pool.open().step(frame(1))).shape).toEqual([20])
    expect(starts).toBe(3)
    expect(pool.stats()).toMatchObject({ lostWorkers: 2, lostStreams: 1 })
  })

  it('serves a pool to a parent, and nothing else', () => {
    const port = { on: () => undefined, postMessage: () => undefined }
    for (const parent of [null, {}, { postMessage: port.postMessage }]) {
      expect(() => serveStreams(parent as never, {} as never)).toThrow(coded('ERR_NOT_A_WORKER'))
    }
    for (const pool of [undefined, {}, { open: () => undefined }]) {
      expect(() => serveStreams(port, pool as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
    }
  })

  it.each([
    [{ workers: 0 }, 'ERR_INVALID_OPTION'],
    [{ maxQueued: 0.5 }, 'ERR_INVALID_OPTION'],
    [{ start: 'worker.js' }, 'ERR_INVALID_OPTION_TYPE'],
    [{ onWorkerLost: 1 }, 'ERR_INVALID_OPTION_TYPE'],
    [{ threads: 2 }, 'ERR_UNKNOWN_OPTION'],
  ])('refuses the options %j with %s', async (options, code) => {
    const start = () => new Worker('', { eval: true })
    await expect(openWorkerPool({ workers: 1, start, ...options } as never)).rejects.toThrow(coded(code))
  })
})
