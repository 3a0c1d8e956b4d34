import { LSTMCell } from '@cudnn-rnn/cells'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  conv1d,
  cudnnGRU,
  cudnnLSTM,
  dense,
  dropout,
  embedding,
  meanOverTime,
  reverse,
  rnn,
  sequential,
} from '../../src/index.js'
import { waves } from '../small_data.js'
import { B, dtype, I, LAYERS, withStream, x } from './streamed_layers.js'

describe('the state of a cell', () => {
  test.each<[string, string, unknown]>([
    ['one tensor for two', 'ERR_LAYER_STATES', [waves([B, 2])]],
    ['no list', 'ERR_LAYER_STATES', { c: waves([B, 2]), h: waves([B, 2]) }],
    ['tensors of other rows', 'ERR_SHAPE', [waves([B, 2]), waves([B + 1, 2])]],
    ['tensors of other columns', 'ERR_SHAPE', [waves([B, 2]), waves([B, 3])]],
    ['another dtype', 'ERR_DTYPE', [waves([B, 2]), { data: new Float32Array(2 * B), shape: [B, 2] }]],
    ['numbers', 'ERR_NOT_A_TENSOR', [1, 2]],
  ])('is refused as %s', (_, code, wrong) =>
    withStream([rnn(new LSTMCell(2, { dtype }))], async (stream) => {
      await stream.step(x(1))
      const state = await stream.state()
      expect(() => stream.restore([wrong])).toThrow(coded(code))
      expect(await stream.state()).toEqual(state)
    }),
  )
})

describe('ModelStream', () => {
  test('runs steps in the order of their calls, and copies their inputs at the call', () =>
    withStream(LAYERS['a cell'](), async (stream) => {
      const expected = [await stream.step(x(1)), await stream.step(x(2))]
      stream.reset()
      const reused = x(1)
      const first = stream.step(reused)
      reused.data.set(x(2).data)
      const second = stream.step(reused)
      reused.data.fill(7)
      expect(await Promise.all([first, second])).toEqual(expected)
    }))

  test.each([
    ['a causal convolution', conv1d({ filters: 2, kernelSize: 3, padding: 'causal' })],
    ['a mean', meanOverTime()],
    ['a network', cudnnLSTM({ numUnits: 2 })],
    ['a cell', rnn(new LSTMCell(2, { dtype }))],
  ])('refuses more streams of %s than there is memory', (_, each) => {
    using backend = openReferenceBackend({ dtype })
    using model = sequential(backend, [each], { inputSize: I })
    expect(() => model.stream({ batch: 2 ** 45 })).toThrow(coded('ERR_OUT_OF_MEMORY'))
  })

  test('restores a state whole or not at all', () =>
    withStream(
      [conv1d({ filters: 2, kernelSize: 3, padding: 'causal' }), cudnnLSTM({ numUnits: 2 })],
      async (stream) => {
        await stream.step(x(1))
        const earlier = (await stream.state()) as readonly object[]
        await stream.step(x(2))
        const before = await stream.state()
        const { proxy, revoke } = Proxy.revocable([], {})
        revoke()
        const fails = () => {
          throw new Error('a getter')
        }
        for (const wrong of [
          { ...earlier[1], h: waves([1, B, 3]) },
          Object.defineProperty({}, 'h', { get: fails }),
          proxy,
        ]) {
          expect(() => stream.restore([earlier[0], wrong])).toThrow(
            coded(expect.stringMatching(/^ERR_(SHAPE|NOT_A_STATE)$/)),
          )
        }
        expect(() => stream.restore(proxy)).toThrow(coded('ERR_LAYER_STATES'))
        expect(await stream.state()).toEqual(before)
      },
    ))

  test('refuses reset and restore while a step is running, and allows them after it', () =>
    withStream(LAYERS['a cell'](), async (stream) => {
      const state = await stream.state()
      const step = stream.step(x(1))
      expect(() => stream.reset()).toThrow(coded('ERR_STREAM_BUSY'))
      expect(() => stream.restore(state)).toThrow(coded('ERR_STREAM_BUSY'))
      const fresh = await step
      stream.restore(state)
      expect(await stream.step(x(1))).toEqual(fresh)
    }))

  test.each<[string, string, () => unknown]>([
    ['other columns', 'ERR_SHAPE', () => waves([B, I + 1])],
    ['other rows', 'ERR_SHAPE', () => waves([B + 1, I])],
    ['a vector', 'ERR_SHAPE', () => waves([I])],
    ['a batch of batches', 'ERR_SHAPE', () => waves([1, 1, B, I])],
    ['another dtype', 'ERR_DTYPE', () => ({ data: new Float32Array(B * I), shape: [B, I] })],
    ['too few numbers', 'ERR_SHAPE', () => [1, 2, 3]],
    ['texts', 'ERR_NOT_A_TENSOR', () => ['1', '2']],
  ])('refuses a step of %s, and keeps its state', (_, code, input) =>
    withStream(LAYERS['a cell'](), async (stream) => {
      await stream.step(x(1))
      const state = await stream.state()
      await expect(stream.step(input() as never)).rejects.toThrow(coded(code))
      expect(await stream.state()).toEqual(state)
      stream.reset()
    }),
  )

  test('takes tensors of the executor, and leaves them to the caller', async () => {
    using backend = openReferenceBackend({ dtype })
    using model = sequential(backend, [dense({ units: 2 })], { inputSize: I, seed: 1 })
    using stream = model.stream({ batch: B })
    using input = backend.tensor(x(1))
    const before = backend.stats()
    expect(await stream.step(input)).toEqual(await stream.step(x(1)))
    expect(input.disposed).toBe(false)
    expect(backend.stats()).toEqual(before)
  })

  test('steps class ids without their last dimension, and drops nothing', async () => {
    using backend = openReferenceBackend({ dtype })
    const table = { data: Float64Array.of(1, 2, 3, 4, 5, 6), shape: [3, 2] }
    const layers = [embedding({ size: 3, units: 2, initializer: table }), dropout({ rate: 1 })]
    using model = sequential(backend, layers)
    using stream = model.stream({ batch: 2 })
    const ids = (shape: readonly number[], ...data: number[]) => ({ data: Int32Array.from(data), shape })
    expect(await stream.step(ids([2], 2, 0))).toEqual({ data: Float64Array.of(5, 6, 1, 2), shape: [2, 2] })
    expect(await stream.step(Int32Array.of(2, 0))).toEqual({ data: Float64Array.of(5, 6, 1, 2), shape: [2, 2] })
    expect((await stream.step(ids([2, 2], 1, 1, 0, 2))).shape).toEqual([2, 2, 2])
    await expect(stream.step(ids([2], 0, 3))).rejects.toThrow(coded('ERR_ID_OUT_OF_RANGE'))
    await expect(stream.step(x(1))).rejects.toThrow(coded('ERR_DTYPE'))
  })

  test('serves models without a time axis', async () => {
    using backend = openReferenceBackend({ dtype })
    const kernelInitializer = { data: Float64Array.of(1, 10, 100), shape: [3, 1] }
    using model = sequential(backend, [dense({ units: 1, kernelInitializer })], { inputSize: I, isSequence: false })
    using stream = model.stream({ batch: 1 })
    const y = await stream.step({ data: Float64Array.of(1, 2, 3), shape: [1, 3] })
    expect(y).toEqual({ data: Float64Array.of(321), shape: [1, 1] })
  })

  test('refuses everything once it was disposed, and may be disposed twice', () =>
    withStream(LAYERS['a recurrent model'](), async (stream) => {
      const state = await stream.state()
      stream.dispose()
      stream.dispose()
      await expect(stream.step(x(1))).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
      await expect(stream.state()).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
      expect(() => stream.reset()).toThrow(coded('ERR_STREAM_DISPOSED'))
      expect(() => stream.restore(state)).toThrow(coded('ERR_STREAM_DISPOSED'))
    }))

  test.each([
    [0, 'ERR_INVALID_OPTION'],
    [-1, 'ERR_INVALID_OPTION'],
    [1.5, 'ERR_INVALID_OPTION'],
    [Number.NaN, 'ERR_INVALID_OPTION'],
    ['2', 'ERR_INVALID_OPTION_TYPE'],
    [null, 'ERR_INVALID_OPTION_TYPE'],
  ])('is not opened for a batch of %o (%s)', (batch, code) => {
    using backend = openReferenceBackend({ dtype })
    using model = sequential(backend, [dense({ units: 1 })], { inputSize: I })
    expect(() => model.stream({ batch: batch as never })).toThrow(coded(code))
    expect(() => model.stream({ rows: 2 } as never)).toThrow(coded('ERR_UNKNOWN_OPTION'))
  })

  test('is not opened through a layer that needs the whole sequence, whose name the error has', () => {
    using backend = openReferenceBackend({ dtype })
    const layers = [cudnnGRU({ numUnits: 2 }), reverse({ name: 'end' })]
    using model = sequential(backend, layers, { inputSize: I })
    const before = backend.stats()
    expect(() => model.stream()).toThrow(coded('ERR_NO_STREAM', { layer: 'end' }))
    expect(backend.stats()).toEqual(before)
  })
})
