import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh, type Variable } from '../../src/index.js'
import { floats, valuesOf } from '../small_models.js'
import { withQueuedStepper } from './with_queued_stepper.js'

const SIZES = { numLayers: 2, numUnits: 3, inputSize: 2 }

describe.each([
  ['with a stepper', () => openReferenceBackend() as Backend],
  ['with a queued one', withQueuedStepper],
])('a stream on an executor %s', (_, open) => {
  it.each([CudnnLSTM, CudnnGRU, CudnnRNNRelu, CudnnRNNTanh])(
    'carries the state of %o as call() does',
    async (Model) => {
      const backend = open()
      const model = new Model(backend, SIZES)
      const params: Variable = model.createParams({ seed: 1, biasInitializer: 0.1 })
      const input = floats(Float32Array, 6, 4, 2)
      const inference = { isTraining: false } as const
      const whole =
        model instanceof CudnnLSTM
          ? await model.call(input, null, null, params, inference)
          : await model.call(input, null, params, inference)
      const stream = model.stream(params, { batch: 4 })
      const outputs: number[] = []
      const step = (t: number, steps: number) => ({
        data: input.data.slice(t * 8, (t + steps) * 8),
        shape: [steps, 4, 2],
      })
      outputs.push(...(await stream.step({ ...step(0, 1), shape: [4, 2] })).data)
      outputs.push(...(await stream.step(backend.tensor(step(1, 2)))).data)
      // Not awaited one by one: they must still keep their order.
      const rest = await Promise.all([3, 4, 5].map((t) => stream.step(step(t, 1))))
      for (const { data } of rest) outputs.push(...data)
      const expected = await valuesOf(whole.output)
      for (const [index, value] of outputs.entries()) expect(value).toBeCloseTo(expected[index], 6)
      const h = Array.from((await stream.state()).h.data)
      for (const [index, value] of (await valuesOf(whole.outputH)).entries()) expect(h[index]).toBeCloseTo(value, 6)
      stream.dispose()
    },
  )

  it('resets rows, restores a state, and refuses one of other sizes', async () => {
    const backend = open()
    const gru = new CudnnGRU(backend, SIZES)
    const stream = gru.stream(gru.createParams({ seed: 1 }), { batch: 2 })
    const first = await stream.step(floats(Float32Array, 3, 2, 2))
    const state = await stream.state()
    const second = await stream.step(floats(Float32Array, 1, 2, 2))
    stream.restore(state)
    expect(Array.from((await stream.step(floats(Float32Array, 1, 2, 2))).data)).toEqual(Array.from(second.data))
    stream.reset([1])
    expect(Array.from((await stream.state()).h.data).slice(3, 6)).toEqual([0, 0, 0])
    stream.reset()
    expect(Array.from((await stream.step(floats(Float32Array, 3, 2, 2))).data)).toEqual(Array.from(first.data))
    for (const rows of [[2], 1, null]) expect(() => stream.reset(rows as never)).toThrow(coded('ERR_STREAM_ROW'))
    expect(() => stream.restore({ h: floats(Float32Array, 2, 1, 3), c: undefined })).toThrow(coded('ERR_SHAPE'))
    await expect(stream.step(floats(Float32Array, 3, 2))).rejects.toThrow(coded('ERR_SHAPE'))
    stream.dispose()
    await expect(stream.step(floats(Float32Array, 2, 2))).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    backend.dispose()
    await expect(stream.step(floats(Float32Array, 2, 2))).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
  })

  it('steps, reads and restores single rows as separate streams', async () => {
    const backend = open()
    const lstm = new CudnnLSTM(backend, { ...SIZES, numProj: 2 })
    const params = lstm.createParams({ seed: 1 })
    const stream = lstm.stream(params, { batch: 4 })
    const alone = lstm.stream(params, { batch: 3 })
    const x = floats(Float32Array, 3, 2)
    const rows = [3, 0, 1]
    const steps = [stream.stepRows(rows, x), stream.stepRows(Int32Array.from(rows), backend.tensor(x))]
    rows.fill(0)
    const expected = [await alone.step(x), await alone.step(x)]
    for (const [index, { data, shape }] of (await Promise.all(steps)).entries()) {
      expect(shape).toEqual([3, 2])
      for (const [k, value] of data.entries()) expect(value).toBeCloseTo(expected[index].data[k], 6)
    }
    const state = await stream.state([3, 0, 1])
    const own = await alone.state()
    for (const name of ['h', 'c'] as const) {
      expect(state[name]!.shape).toEqual(own[name]!.shape)
      for (const [k, value] of state[name]!.data.entries()) expect(value).toBeCloseTo(own[name]!.data[k], 6)
    }
    expect((await stream.state([2])).h.data.every((value) => value === 0)).toBe(true)
    stream.restore(await stream.state([3]), [2])
    expect(await stream.state([2])).toEqual(await stream.state([3]))
    expect(await stream.state([0])).not.toEqual(await stream.state([3]))
    expect((await stream.stepRows([], floats(Float32Array, 0, 2))).shape).toEqual([0, 2])
    const before = await stream.state()
    for (const wrong of [[4], [0, 0], [-1], null, 'ab']) {
      await expect(stream.stepRows(wrong as never, floats(Float32Array, 1, 2))).rejects.toThrow(coded('ERR_STREAM_ROW'))
      await expect(stream.state(wrong as never)).rejects.toThrow(coded('ERR_STREAM_ROW'))
      expect(() => stream.restore(before, wrong as never)).toThrow(coded('ERR_STREAM_ROW'))
    }
    await expect(stream.stepRows([0], x)).rejects.toThrow(coded('ERR_SHAPE'))
    expect(() => stream.restore(before, [0])).toThrow(coded('ERR_SHAPE'))
    expect(await stream.state()).toEqual(before)
  })

  it('keeps steps in the order of the calls when a backend tensor has to be read first', async () => {
    const backend = open()
    const gru = new CudnnGRU(backend, SIZES)
    const params = gru.createParams({ seed: 1 })
    const [first, second] = [floats(Float32Array, 1, 2), { data: Float32Array.of(-1, 2), shape: [1, 2] }]
    const awaited = gru.stream(params)
    const expected = [Array.from((await awaited.step(first)).data), Array.from((await awaited.step(second)).data)]
    const stream = gru.stream(params)
    const steps = [stream.step(backend.tensor(first)), stream.step(second)]
    const state = stream.state()
    // The caller may reuse its array immediately.
    second.data.fill(9)
    expect((await Promise.all(steps)).map(({ data }) => Array.from(data))).toEqual(expected)
    expect((await state).h).toEqual((await awaited.state()).h)
  })

  it('refuses to change the state under a running step rather than lose the change', async () => {
    const backend = open()
    const lstm = new CudnnLSTM(backend, SIZES)
    const stream = lstm.stream(lstm.createParams({ seed: 1 }))
    const state = await stream.state()
    const step = stream.step(backend.tensor(floats(Float32Array, 1, 2)))
    expect(() => stream.reset()).toThrow(coded('ERR_STREAM_BUSY'))
    expect(() => stream.restore(state)).toThrow(coded('ERR_STREAM_BUSY'))
    await step
    stream.restore(state)
    expect(await stream.state()).toEqual(state)
  })

  it('survives a refused step and stays usable', async () => {
    const backend = open()
    const gru = new CudnnGRU(backend, SIZES)
    const stream = gru.stream(gru.createParams({ seed: 1 }))
    const wrong = stream.step(backend.tensor(floats(Float32Array, 1, 3)))
    const right = stream.step(floats(Float32Array, 1, 2))
    await expect(wrong).rejects.toThrow(coded('ERR_SHAPE'))
    expect((await right).shape).toEqual([1, 3])
    expect(() => stream.reset()).not.toThrow()
  })

  it('takes no steps at all, and keeps its state', async () => {
    const backend = open()
    const gru = new CudnnGRU(backend, SIZES)
    const stream = gru.stream(gru.createParams({ seed: 1 }), { batch: 2 })
    await stream.step(floats(Float32Array, 2, 2))
    const state = await stream.state()
    expect((await stream.step(floats(Float32Array, 0, 2, 2))).shape).toEqual([0, 2, 3])
    await expect(stream.step(floats(Float32Array, 0, 3, 2))).rejects.toThrow(coded('ERR_SHAPE'))
    expect(await stream.state()).toEqual(state)
  })

  it('is refused once its parameters or its model were disposed', async () => {
    const backend = open()
    const gru = new CudnnGRU(backend, SIZES)
    const params = gru.createParams({ seed: 1 })
    const stream = gru.stream(params)
    params.dispose()
    await expect(stream.step(floats(Float32Array, 1, 2))).rejects.toThrow(coded('ERR_TENSOR_DISPOSED'))
    await expect(stream.step(floats(Float32Array, 0, 1, 2))).rejects.toThrow(coded('ERR_TENSOR_DISPOSED'))
    await expect(stream.stepRows([], floats(Float32Array, 0, 2))).rejects.toThrow(coded('ERR_TENSOR_DISPOSED'))
    gru.dispose()
    await expect(stream.step(floats(Float32Array, 1, 2))).rejects.toThrow(coded('ERR_RNN_DISPOSED'))
  })

  it('is refused for its model before an input of a wrong shape', async () => {
    const backend = open()
    const gru = new CudnnGRU(backend, SIZES)
    const stream = gru.stream(gru.createParams())
    const wrong = floats(Float32Array, 1, 2, 3)
    await expect(stream.step(wrong)).rejects.toThrow(coded('ERR_SHAPE'))
    gru.dispose()
    await expect(stream.step(wrong)).rejects.toThrow(coded('ERR_RNN_DISPOSED'))
    await expect(stream.stepRows([0], wrong)).rejects.toThrow(coded('ERR_RNN_DISPOSED'))
    expect(() => stream.stepSync(wrong)).toThrow(coded('ERR_RNN_DISPOSED'))
  })

  it('rejects a value that is not a tensor or a state, and parameters of another model, before computing', async () => {
    const backend = open()
    const lstm = new CudnnLSTM(backend, SIZES)
    const stream = lstm.stream(lstm.createParams())
    await expect(stream.step(null as never)).rejects.toThrow(coded('ERR_NOT_A_TENSOR'))
    expect(() => stream.restore(null as never)).toThrow(coded('ERR_NOT_A_STATE'))
    expect(() => stream.restore({ h: floats(Float32Array, 2, 1, 3), c: undefined })).toThrow(coded('ERR_NOT_A_TENSOR'))
    const other = new CudnnGRU(backend, SIZES).createParams()
    // @ts-expect-error: a GRU's parameters
    expect(() => lstm.stream(other)).toThrow(coded('ERR_OTHER_LAYOUT'))
  })

  it('refuses the state of an LSTM in another cell of its sizes, as a pool does', async () => {
    const backend = open()
    const lstm = new CudnnLSTM(backend, SIZES)
    const state = await lstm.stream(lstm.createParams()).state()
    const gru = new CudnnGRU(backend, SIZES)
    const params = gru.createParams()
    expect(() => gru.stream(params).restore(state)).toThrow(coded('ERR_NO_CELL_STATE'))
    expect(() => gru.streamPool(params).open(state)).toThrow(coded('ERR_NO_CELL_STATE'))
  })

  it('refuses bidirectional models, wrong batches and unknown options', () => {
    const backend = open()
    const both = new CudnnGRU(backend, { ...SIZES, direction: 'bidirectional' })
    expect(() => both.stream(both.createParams())).toThrow(coded('ERR_BIDIRECTIONAL_STREAM'))
    const gru = new CudnnGRU(backend, SIZES)
    expect(() => gru.stream(gru.createParams(), { batch: 1.5 })).toThrow(coded('ERR_INVALID_OPTION'))
    expect(() => gru.stream(gru.createParams(), { batches: 1 } as never)).toThrow(coded('ERR_UNKNOWN_OPTION'))
  })
})

it.each([
  ['with a stepper', () => openReferenceBackend() as Backend],
  ['with a queued one', withQueuedStepper],
])('a stream on an executor %s is refused for the model before the parameters', (_, open) => {
  const gru = new CudnnGRU(open(), SIZES)
  const params = gru.createParams({ seed: 1 })
  params.dispose()
  expect(() => gru.stream(params)).toThrow(coded('ERR_TENSOR_DISPOSED'))
  gru.dispose()
  expect(() => gru.stream(params)).toThrow(coded('ERR_RNN_DISPOSED'))
})
