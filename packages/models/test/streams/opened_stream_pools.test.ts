import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { CudnnGRU, CudnnLSTM } from '../../src/index.js'

const SIZES = { numLayers: 2, numUnits: 3, inputSize: 2 }
const frame = (start = 0) => ({ data: Float32Array.of(Math.sin(start), Math.cos(start)), shape: [2] })
const turn = () => new Promise((resolve) => setTimeout(resolve, 0))

function openPool(backend: Backend, options: object = {}) {
  const lstm = new CudnnLSTM(backend, SIZES)
  const params = lstm.createParams({ seed: 1 })
  return { lstm, params, pool: lstm.streamPool(params, { maxStreams: 4, ...options }) }
}

describe('streamPool', () => {
  it('waits maxDelayMs for other streams, but not once every stream has input', async () => {
    const { pool } = openPool(openReferenceBackend(), { maxDelayMs: 10_000 })
    const [a, b] = [pool.open(), pool.open()]
    const step = a.step(frame())
    await turn()
    expect(pool.stats().rounds).toBe(0)
    await Promise.all([step, b.step(frame())])
    expect(pool.stats()).toMatchObject({ rounds: 1, steps: 2 })
    const alone = a.step(frame())
    pool.dispose() // no timer is left that would keep the process alive for ten seconds
    await expect(alone).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
  })

  it('computes a step after maxDelayMs where no other stream has input', async () => {
    const { pool } = openPool(openReferenceBackend(), { maxDelayMs: 5 })
    const [a] = [pool.open(), pool.open()]
    expect((await a.step(frame())).shape).toEqual([3])
    pool.dispose()
  })

  it('refuses bidirectional models and wrong options', () => {
    const backend = openReferenceBackend()
    const both = new CudnnGRU(backend, { ...SIZES, direction: 'bidirectional' })
    expect(() => both.streamPool(both.createParams())).toThrow(coded('ERR_BIDIRECTIONAL_STREAM'))
    const gru = new CudnnGRU(backend, SIZES)
    const params = gru.createParams()
    for (const wrong of [
      { maxStreams: 0 },
      { maxStreams: 2 ** 21 },
      { maxQueued: 1.5 },
      { maxBatch: 0 },
      { maxDelayMs: -1 },
      { maxDelayMs: Number.NaN },
    ]) {
      expect(() => gru.streamPool(params, wrong as never)).toThrow(coded('ERR_INVALID_OPTION'))
    }
    expect(() => gru.streamPool(params, { maxDelayMs: '1' } as never)).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
    expect(() => gru.streamPool(params, { streams: 1 } as never)).toThrow(coded('ERR_UNKNOWN_OPTION'))
    expect(backend.stats().steppers).toBe(0)
  })
})
