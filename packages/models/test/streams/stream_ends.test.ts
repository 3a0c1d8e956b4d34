import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { CudnnGRU } from '../../src/index.js'
import { floats } from '../small_models.js'
import { withQueuedStepper } from './with_queued_stepper.js'

const SIZES = { numLayers: 2, numUnits: 3, inputSize: 2 }

describe.each([
  ['with a stepper', () => openReferenceBackend() as Backend],
  ['with a queued one', withQueuedStepper],
])('stepSync on an executor %s', (_, open) => {
  it('writes into out', () => {
    const gru = new CudnnGRU(open(), SIZES)
    const stream = gru.stream(gru.createParams({ seed: 1 }))
    const out = { data: new Float32Array(3), shape: [1, 3] }
    expect(stream.stepSync(floats(Float32Array, 1, 2), out)).toBe(out)
    expect(out.data.some((value) => value !== 0)).toBe(true)
    expect(() => stream.stepSync(null as never)).toThrow(coded('ERR_NOT_A_TENSOR'))
    expect(() => stream.stepSync(['1', '2'] as never)).toThrow(coded('ERR_NOT_A_TENSOR'))
  })

  it('rejects an out that is not a host tensor, and keeps the state', async () => {
    const backend = open()
    const gru = new CudnnGRU(backend, SIZES)
    const stream = gru.stream(gru.createParams({ seed: 1 }))
    for (const out of [new Float32Array(3), null, backend.zeros([1, 3])]) {
      expect(() => stream.stepSync(floats(Float32Array, 1, 2), out as never)).toThrow(coded('ERR_NOT_A_TENSOR'))
    }
    expect((await stream.state()).h.data.every((value) => value === 0)).toBe(true)
  })

  it('is refused before an earlier step() is done', async () => {
    const backend = open()
    const gru = new CudnnGRU(backend, SIZES)
    const stream = gru.stream(gru.createParams({ seed: 1 }))
    const step = stream.step(backend.tensor(floats(Float32Array, 1, 2)))
    expect(() => stream.stepSync(floats(Float32Array, 1, 2))).toThrow(coded('ERR_STREAM_BUSY'))
    await step
    expect(stream.stepSync(floats(Float32Array, 1, 2)).shape).toEqual([1, 3])
  })

  it('computes T steps, no steps, and single rows, as step() does', async () => {
    const gru = new CudnnGRU(open(), SIZES)
    const params = gru.createParams({ seed: 1 })
    const [stream, other] = [gru.stream(params, { batch: 3 }), gru.stream(params, { batch: 3 })]
    const input = floats(Float32Array, 4, 3, 2)
    expect(stream.stepSync(input)).toEqual(await other.step(input))
    expect(stream.stepSync(floats(Float32Array, 0, 3, 2)).shape).toEqual([0, 3, 3])
    const rows = floats(Float32Array, 2, 2)
    expect(stream.stepRowsSync([2, 0], rows)).toEqual(await other.stepRows([2, 0], rows))
    expect(stream.stepRowsSync([], floats(Float32Array, 0, 2)).shape).toEqual([0, 3])
    expect(await stream.state()).toEqual(await other.state())
  })

  it('refuses wrong shapes, rows and a disposed stream, and keeps the state', async () => {
    const gru = new CudnnGRU(open(), SIZES)
    const stream = gru.stream(gru.createParams({ seed: 1 }), { batch: 2 })
    const x = floats(Float32Array, 2, 2)
    const before = await stream.state()
    expect(() => stream.stepSync(floats(Float32Array, 3, 2))).toThrow(coded('ERR_SHAPE'))
    expect(() => stream.stepSync(x, floats(Float32Array, 2, 2))).toThrow(coded('ERR_SHAPE'))
    expect(() => stream.stepRowsSync([0, 2], x)).toThrow(coded('ERR_STREAM_ROW'))
    expect(() => stream.stepRowsSync([1, 1], x)).toThrow(coded('ERR_STREAM_ROW'))
    expect(() => stream.stepRowsSync([1], x)).toThrow(coded('ERR_SHAPE'))
    expect(() => stream.stepRowsSync([0, 1], x, floats(Float32Array, 1, 3))).toThrow(coded('ERR_SHAPE'))
    expect(await stream.state()).toEqual(before)
    stream.dispose()
    expect(() => stream.stepSync(x)).toThrow(coded('ERR_STREAM_DISPOSED'))
  })
})
