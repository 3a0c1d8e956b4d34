import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { CudnnGRU, CudnnLSTM, type Params, type RecurrentModel, type Variable } from '../src/index.js'

const SIZES = { numLayers: 1, numUnits: 2, inputSize: 3 }
const input = { data: new Float32Array(6), shape: [2, 1, 3] }

describe('types of a call', () => {
  it('let a boolean decide whether it trains', async () => {
    using backend = openReferenceBackend()
    const lstm = new CudnnLSTM(backend, SIZES)
    const params = lstm.createParams()
    const run = async (isTraining: boolean) => {
      const { tape, output } = await lstm.call(input, null, null, params, { isTraining })
      return lstm.gradients(tape, { output })
    }
    expect((await run(true)).params.shape).toEqual([lstm.paramsSize()])
    await expect(run(false)).rejects.toMatchObject({ code: 'ERR_NO_TAPE' })
    const inference = await lstm.call(input, null, null, params, { isTraining: false })
    // @ts-expect-error: an inference never has a tape.
    await expect(lstm.gradients(inference.tape, {})).rejects.toMatchObject({ code: 'ERR_NO_TAPE' })
  })
})

describe('types of parameters', () => {
  it('of a call, a stream or a pool are those of its cell; a variable without one fits every model', async () => {
    using backend = openReferenceBackend()
    const lstm = new CudnnLSTM(backend, SIZES)
    const gru = new CudnnGRU(backend, SIZES)
    const refused = { code: 'ERR_OTHER_LAYOUT' }
    // @ts-expect-error: a GRU's parameters
    await expect(lstm.call(input, null, null, gru.createParams())).rejects.toMatchObject(refused)
    // @ts-expect-error: an LSTM's slot
    await expect(gru.call(input, null, lstm.createSlot('m'))).rejects.toMatchObject(refused)
    // @ts-expect-error: an LSTM's parameters
    expect(() => gru.streamPool(lstm.createParams(), { maxStreams: 1 })).toThrow(expect.objectContaining(refused))
    const any: Variable = lstm.createParams()
    const given: Params = any.value
    for (const params of [any, given]) {
      await lstm.call(input, null, null, params)
      await lstm.paramsToCanonical(params)
    }
    const models: RecurrentModel[] = [lstm, gru]
    for (const model of models) await model.paramsToCanonical(model.createParams())
  })
})

describe('types of options', () => {
  it('take a descriptor, and offer none of the fields that only it has', () => {
    using backend = openReferenceBackend()
    const lstm = new CudnnLSTM(backend, SIZES)
    const gru = new CudnnGRU(backend, SIZES)
    expect(new CudnnLSTM(backend, lstm.descriptor).descriptor).toEqual(lstm.descriptor)
    expect(new CudnnGRU(backend, { ...gru.descriptor, numUnits: 5 }).numUnits).toBe(5)
    // @ts-expect-error: a field of a descriptor
    new CudnnLSTM(backend, { numLayers: 1, numUnits: 2, inputSize: 3, biasMode: 'double' })
    // @ts-expect-error: a field of a descriptor
    new CudnnGRU(backend, { numLayers: 1, numUnits: 2, inputSize: 3, cellMode: 'gru' })
  })
})

describe('the signal of a call', () => {
  it('rejects with its reason, before the call and during it, and leaves no tensor', async () => {
    using backend = openReferenceBackend()
    const lstm = new CudnnLSTM(backend, SIZES)
    const params = lstm.createParams()
    const before = backend.stats()
    const run = (signal: AbortSignal) => lstm.call(input, null, null, params, { signal })
    await expect(run(AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
    const abort = new AbortController()
    const running = run(abort.signal)
    abort.abort(new Error('too late'))
    await expect(running).rejects.toThrow('too late')
    expect(backend.stats()).toEqual(before)
    await expect(run(1 as never)).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION_TYPE' })
    expect((await run(new AbortController().signal)).output.shape).toEqual([2, 1, 2])
  })
})

describe("TensorFlow's positional arguments", () => {
  it('are refused with what to write', async () => {
    using backend = openReferenceBackend()
    const Positional = CudnnLSTM as unknown as new (...args: unknown[]) => CudnnLSTM
    const rule = {
      code: 'ERR_INVALID_OPTION_TYPE',
      message: expect.stringContaining('new CudnnLSTM(backend, { numLayers'),
    }
    expect(() => new Positional(1, 6, 5)).toThrow(expect.objectContaining(rule))
    expect(() => new Positional(backend, 1, 6, 5)).toThrow(expect.objectContaining(rule))
    const lstm = new CudnnLSTM(backend, SIZES)
    await expect(lstm.call(input, null, null, lstm.createParams(), false as never)).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION_TYPE',
      message: expect.stringContaining('{ isTraining: false }'),
    })
  })
})
