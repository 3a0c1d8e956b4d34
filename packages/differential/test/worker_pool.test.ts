import { existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { CudnnLSTM, openWorkerPool, serveStreams, type WorkerLoss, type WorkerPool } from '@cudnn-rnn/models'
import { type Backend, BackendUnavailableError } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'
import { coded } from '../../../scripts/testing/coded.mjs'
import type { StreamWorkerData } from './programs/stream_worker.js'

const SIZES = { numLayers: 2, numUnits: 20, inputSize: 3 }
const program = join(mkdtempSync(join(tmpdir(), 'cudnn-rnn-program-')), 'stream_worker.mjs')
const frame = (start: number) => ({ data: Float32Array.from({ length: 3 }, (_, k) => Math.sin(start + k)), shape: [3] })
const crash = (kind: 1000 | 2000) => ({ data: Float32Array.of(kind, 0, 0), shape: [3] })

/** The place at which this repository's addon was built; the bundled program is elsewhere. */
function cpuAddon(): string {
  const folder = fileURLToPath(new URL('../../../native/cpu/prebuilds/', import.meta.url))
  const built = existsSync(folder) ? readdirSync(folder) : []
  const triple = built.find((name) => name.startsWith(`${process.platform}-${process.arch}`))
  return triple === undefined ? '' : join(folder, triple, 'cudnn_rnn_cpu.node')
}
const env = { CUDNN_RNN_CPU_ADDON: cpuAddon(), ...process.env }

interface ExecutorCase {
  readonly name: 'cpu' | 'reference'
  readonly weights?: 'int8'
  open(): Backend
}

const cases: ExecutorCase[] = [{ name: 'reference', open: () => openReferenceBackend() }]
try {
  openCpuBackend().dispose()
  cases.push({ name: 'cpu', open: () => openCpuBackend({ threads: 1 }) })
  cases.push({ name: 'cpu', weights: 'int8', open: () => openCpuBackend({ threads: 1, weights: 'int8' }) })
} catch (error) {
  if (!(error instanceof BackendUnavailableError)) throw error
}

const opened: { dispose(): void }[] = []
afterEach(() => {
  for (const each of opened.splice(0)) each.dispose()
})

/** A model with parameters, and a pool of two workers that share them. */
async function openPool({ name, weights, open }: ExecutorCase, options: { readonly maxQueued?: number } = {}) {
  const backend = open()
  const lstm = new CudnnLSTM(backend, SIZES)
  const params = lstm.createParams({ seed: 1 })
  const shared = await lstm.shareParams(params)
  const workerData: StreamWorkerData = {
    executor: name,
    sizes: SIZES,
    params: shared,
    maxStreams: 3,
    ...(weights && { weights }),
  }
  const losses: WorkerLoss[] = []
  let started = 0
  const pool = await openWorkerPool({
    workers: 2,
    start: () => {
      started++
      return new Worker(program, { env, workerData, stderr: true })
    },
    onWorkerLost: (loss) => losses.push(loss),
    ...options,
  })
  opened.push(pool, backend)
  return { lstm, params, pool, losses, started: () => started }
}

/** Resolves when all workers of the pool are ready again. */
async function recovered(pool: WorkerPool): Promise<void> {
  while (pool.stats().workers.filter(({ state }) => state === 'ready').length < 2) {
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

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
