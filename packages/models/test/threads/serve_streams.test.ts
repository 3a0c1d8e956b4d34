import { afterEach, describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import {
  openWorkerPool,
  type ServedPool,
  type ServingPort,
  serveStreams,
  streamPoolOf,
  type WorkerPool,
} from '../../src/index.js'
import { type RowSum, SummingRows } from '../streams/summing_rows.js'
import { LinkedThread } from './linked_thread.js'

const frame = (value: number) => ({ data: Float32Array.of(value), shape: [1] })
const opened: WorkerPool<RowSum>[] = []

afterEach(() => {
  for (const pool of opened.splice(0)) pool.dispose()
})

/** The streams of `served` behind a thread. */
async function through(served: ServedPool<RowSum>) {
  const pool = await openWorkerPool<RowSum>({ workers: 1, start: () => new LinkedThread().serve(served) })
  opened.push(pool)
  return pool
}

describe('serveStreams', () => {
  it('sends the number of streams of its pool when it is called', () => {
    const sent: unknown[] = []
    const port: ServingPort = { on: () => undefined, postMessage: (message) => void sent.push(message) }
    serveStreams(port, streamPoolOf(new SummingRows(), { maxStreams: 5 }))
    expect(sent).toEqual([{ ready: true, maxStreams: 5 }])
  })

  it.each<[string, string, unknown, unknown]>([
    ['ERR_NOT_A_WORKER', 'no port', null, undefined],
    ['ERR_NOT_A_WORKER', 'a port that sends nothing', { on: () => undefined }, undefined],
    ['ERR_NOT_A_WORKER', 'a port that receives nothing', { postMessage: () => undefined }, undefined],
    ['ERR_INVALID_ARGUMENT', 'no pool', { on: () => undefined, postMessage: () => undefined }, null],
    [
      'ERR_INVALID_ARGUMENT',
      'a model',
      { on: () => undefined, postMessage: () => undefined },
      { open: () => undefined },
    ],
    [
      'ERR_INVALID_OPTION',
      'a pool of no streams',
      { on: () => undefined, postMessage: () => undefined },
      { open: () => undefined, stats: () => ({ maxStreams: 0.5 }) },
    ],
  ])('refuses with %s %s', (code, _, port, pool) => {
    expect(() => serveStreams(port as ServingPort, pool as ServedPool)).toThrow(coded(code))
  })

  it('answers every call of a stream that could not be opened with the reason, and serves the others', async () => {
    const own = streamPoolOf<RowSum>(new SummingRows())
    let refusals = 1
    const pool = await through({
      open: () => {
        if (refusals-- > 0) throw codedRangeError('ERR_POOL_FULL', 'Cannot open a stream as it has none left')
        return own.open()
      },
      stats: () => own.stats(),
    })
    const [refused, stream] = [pool.open(), pool.open()]
    refused.reset()
    await expect(refused.step(frame(1))).rejects.toThrow(coded('ERR_POOL_FULL'))
    await expect(refused.state()).rejects.toThrow(coded('ERR_POOL_FULL'))
    await expect(refused.restore([0, 0])).rejects.toThrow(coded('ERR_POOL_FULL'))
    refused.close()
    expect([...(await stream.step(frame(2).data)).data]).toEqual([2, 1])
    own.dispose()
  })

  it('answers with an error where a result of its pool cannot be sent, and serves its other calls', async () => {
    const own = streamPoolOf<RowSum>(new SummingRows())
    const wrong: Record<string, unknown> = { step: { data: [1], shape: [1] }, state: () => 1, stats: Symbol('stats') }
    let isWrong = false
    const lying = <Call extends () => unknown>(name: string, call: Call) =>
      (async (...given: []) => (isWrong ? wrong[name] : call(...given))) as unknown as Call
    const pool = await through({
      open: () => {
        const stream = own.open()
        return Object.assign(Object.create(stream), {
          step: lying('step', stream.step.bind(stream) as never),
          state: lying('state', stream.state.bind(stream)),
          close: () => stream.close(),
        })
      },
      stats: () => (isWrong ? (wrong['stats'] as never) : own.stats()),
    })
    const [stream, other] = [pool.open(), pool.open()]
    isWrong = true
    const calls = await Promise.allSettled([stream.step(frame(1)), stream.state(), pool.poolStats()])
    expect(calls.map((call) => call.status === 'rejected' && call.reason.code)).toEqual([
      ...['ERR_NOT_A_TENSOR', 'ERR_NOT_A_STATE', 'ERR_NOT_A_STATE'],
    ])
    isWrong = false
    expect([...(await other.step(frame(2))).data]).toEqual([2, 1])
    own.dispose()
  })

  it('answers every call after a reset that failed with its reason', async () => {
    const own = streamPoolOf<RowSum>(new SummingRows())
    const pool = await through(own)
    const [stream, other] = [pool.open(), pool.open()]
    await stream.step(frame(1))
    own.dispose()
    stream.reset()
    await expect(stream.step(frame(1))).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    await expect(other.state()).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    stream.close()
    expect(pool.stats()).toMatchObject({ lostWorkers: 0, streams: 1 })
  })

  it('answers with an error where the statistics of its pool throw', async () => {
    const own = streamPoolOf<RowSum>(new SummingRows())
    let isBroken = false
    const pool = await through({
      open: () => own.open(),
      stats: () => {
        if (isBroken) throw new TypeError('broken')
        return own.stats()
      },
    })
    isBroken = true
    await expect(pool.poolStats()).rejects.toThrow(new TypeError('broken'))
    expect([...(await pool.open().step(frame(2))).data]).toEqual([2, 1])
    own.dispose()
  })
})
