import type { Backend } from '@cudnn-rnn/backend'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh } from '../src/index.js'
import { coded, floats, valuesOf } from './small_models.js'

const SIZES = { numLayers: 2, numUnits: 3, inputSize: 2 }

/** The reference executor as one that computes elsewhere would look: without a stepper. */
function withoutStepper(): Backend {
  const backend = openReferenceBackend()
  const rnn = backend.rnn.bind(backend)
  backend.rnn = (descriptor) => Object.defineProperty(rnn(descriptor), 'stepper', { value: undefined })
  return backend
}

describe.each([
  ['with a stepper', () => openReferenceBackend() as Backend],
  ['without one', withoutStepper],
])('a stream on an executor %s', (_, open) => {
  it.each([CudnnLSTM, CudnnGRU, CudnnRNNRelu, CudnnRNNTanh])(
    'carries the state of %o as call() does',
    async (Model) => {
      const backend = open()
      const model = new Model(backend, SIZES)
      const params = model.createParams({ seed: 1, biasInitializer: 0.1 })
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
      // Not awaited one by one: they must keep their order all the same.
      const rest = await Promise.all([3, 4, 5].map((t) => stream.step(step(t, 1))))
      for (const { data } of rest) outputs.push(...data)
      const expected = await valuesOf(whole.output)
      for (const [index, value] of outputs.entries()) expect(value).toBeCloseTo(expected[index]!, 6)
      const h = Array.from((await stream.state()).h.data)
      for (const [index, value] of (await valuesOf(whole.outputH)).entries()) expect(h[index]).toBeCloseTo(value, 6)
      stream.dispose()
    },
  )

  it('resets rows, takes back a state, and refuses what does not fit', async () => {
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
    expect(() => stream.reset([2])).toThrow(coded('ERR_STREAM_ROW'))
    expect(() => stream.restore({ h: floats(Float32Array, 2, 1, 3), c: undefined })).toThrow(coded('ERR_SHAPE'))
    await expect(stream.step(floats(Float32Array, 3, 2))).rejects.toThrow(coded('ERR_SHAPE'))
    stream.dispose()
    await expect(stream.step(floats(Float32Array, 2, 2))).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
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

describe('stepSync', () => {
  it('writes into out where the executor steps on this thread', () => {
    const gru = new CudnnGRU(openReferenceBackend(), SIZES)
    const stream = gru.stream(gru.createParams({ seed: 1 }))
    const out = { data: new Float32Array(3), shape: [1, 3] }
    expect(stream.stepSync(floats(Float32Array, 1, 2), out)).toBe(out)
    expect(out.data.some((value) => value !== 0)).toBe(true)
  })

  it('is refused where it does not', () => {
    const gru = new CudnnGRU(withoutStepper(), SIZES)
    const stream = gru.stream(gru.createParams())
    expect(() => stream.stepSync(floats(Float32Array, 1, 2))).toThrow(coded('ERR_NO_SYNC_STEP'))
  })
})
