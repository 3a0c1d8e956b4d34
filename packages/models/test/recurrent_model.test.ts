import type { Tape } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh } from '../src/index.js'
import { ones, valuesOf } from './small_models.js'

const SIZES = { numLayers: 2, numUnits: 3, inputSize: 2 }

describe('a model', () => {
  it('describes its structure in TensorFlow’s terms', () => {
    using backend = openReferenceBackend()
    const lstm = new CudnnLSTM(backend, { ...SIZES, direction: 'bidirectional', numProj: 2 })
    expect(lstm).toMatchObject({
      rnnMode: 'lstm',
      numLayers: 2,
      numUnits: 3,
      inputSize: 2,
      inputMode: 'linear_input',
      numDirs: 2,
    })
    expect(lstm.stateShape(5)).toEqual([4, 5, 2])
    expect(lstm.canonicalWeightShapes.slice(0, 9)).toEqual([
      [3, 2],
      [3, 2],
      [3, 2],
      [3, 2],
      [3, 2],
      [3, 2],
      [3, 2],
      [3, 2],
      [2, 3],
    ])
    expect(lstm.canonicalWeightShapes[18]).toEqual([3, 4])
    expect(lstm.canonicalBiasShapes).toHaveLength(32)
    expect(lstm.paramsSize()).toBe(lstm.createParams().shape[0])
  })

  it('prints before training that it has no input matrices and cannot be exported', () => {
    using backend = openReferenceBackend()
    using skips = new CudnnLSTM(backend, { ...SIZES, inputSize: 3 })
    expect(String(skips)).toMatch(/note: "skip_input: no input matrices in the first layer, no export/)
    for (const options of [SIZES, { ...SIZES, inputSize: 3, inputMode: 'linear_input' as const }]) {
      using linear = new CudnnLSTM(backend, options)
      expect(String(linear)).not.toContain('note')
    }
  })

  it.each([
    ['an unknown option, with a hint', { ...SIZES, numUnit: 4 }, 'ERR_UNKNOWN_OPTION', { suggestion: 'numUnits' }],
    [
      'skip_input with I ≠ H',
      { ...SIZES, inputMode: 'skip_input' },
      'ERR_SKIP_INPUT_SIZE',
      { inputSize: 2, numUnits: 3 },
    ],
    ['a direction that is none', { ...SIZES, direction: 'sideways' }, 'ERR_INVALID_OPTION', { option: 'direction' }],
    ['units that are NaN', { ...SIZES, numUnits: Number.NaN }, 'ERR_INVALID_OPTION', { option: 'numUnits' }],
    ['the descriptor of another cell', { ...SIZES, cellMode: 'gru' }, 'ERR_OTHER_CELL', { cellMode: 'gru' }],
    ['a descriptor with one bias', { ...SIZES, biasMode: 'none' }, 'ERR_INVALID_OPTION', { option: 'biasMode' }],
  ])('refuses %s at construction', (_, options, code, fields) => {
    using backend = openReferenceBackend()
    expect(() => new CudnnLSTM(backend, options as never)).toThrow(coded(code, fields))
    expect(backend.stats().rnns).toBe(0)
  })

  it.each([CudnnLSTM, CudnnGRU, CudnnRNNRelu, CudnnRNNTanh])('takes a descriptor as options: %s', (Model) => {
    using backend = openReferenceBackend()
    const model = new Model(backend, { ...SIZES, direction: 'bidirectional', dropout: 0.5, seed: 3 })
    expect(new Model(backend, model.descriptor).descriptor).toEqual(model.descriptor)
  })

  it('createParams takes canonical values, and then no initializers', async () => {
    using backend = openReferenceBackend()
    const gru = new CudnnGRU(backend, SIZES)
    const { weights, biases } = await gru.paramsToCanonical(gru.createParams({ seed: 5 }))
    const again = await gru.paramsToCanonical(gru.createParams({ canonical: { weights, biases } }))
    expect(again.weights).toEqual(weights)
    const both = () => gru.createParams({ canonical: { weights, biases }, seed: 5 })
    expect(both).toThrow(coded('ERR_INVALID_OPTION', { option: 'seed' }))
  })

  it.each([
    ['a promise of one', Promise.resolve(openReferenceBackend()), 'await openBackend()'],
    ['its name', 'cpu', 'current value is "cpu"'],
    ['nothing', undefined, 'current value is undefined'],
  ])('refuses %s for a backend', (_, backend, hint) => {
    const build = () => new CudnnLSTM(backend as never, SIZES)
    expect(build).toThrow(coded('ERR_NOT_A_BACKEND'))
    expect(build).toThrow(hint)
  })

  it('refuses LSTM options on the others, and unknown call options', async () => {
    using backend = openReferenceBackend()
    expect(() => new CudnnGRU(backend, { ...SIZES, numProj: 2 } as never)).toThrow(coded('ERR_UNKNOWN_OPTION'))
    const gru = new CudnnGRU(backend, SIZES)
    const call = gru.call(ones(2, 1, 2), null, gru.createParams(), { training: true } as never)
    await expect(call).rejects.toThrow(coded('ERR_UNKNOWN_OPTION', { suggestion: 'isTraining' }))
    const text = gru.call(ones(2, 1, 2), null, gru.createParams(), { isTraining: 'no' } as never)
    await expect(text).rejects.toThrow(coded('ERR_INVALID_OPTION_TYPE', { option: 'isTraining' }))
  })

  it('lends its methods unbound, as RNNParamsSaveable takes them', async () => {
    using backend = openReferenceBackend()
    const lstm = new CudnnLSTM(backend, SIZES)
    const { call, gradients, paramsToCanonical, canonicalToParams, createParams, createSlot, paramsSize } = lstm
    const { stateShape, dropoutState, restoreDropoutState, stream } = lstm
    const params = createParams({ seed: 1 })
    const { weights, biases, descriptor } = await paramsToCanonical(params)
    expect(descriptor.cellMode).toBe('lstm')
    expect(await valuesOf(await canonicalToParams(weights, biases))).toEqual(await valuesOf(params.value))
    const { output, tape } = await call(ones(2, 1, 2), null, null, params)
    expect((await gradients(tape, { output })).params.shape).toEqual([paramsSize()])
    expect(stream(params).stepSync(ones(1, 2)).shape).toEqual([1, 3])
    expect(createSlot('slot').shape).toEqual(params.shape)
    expect(stateShape(5)).toEqual(lstm.stateShape(5))
    restoreDropoutState(await dropoutState())
  })

  it('types the tape: one in training, none in inference', async () => {
    using backend = openReferenceBackend()
    const lstm = new CudnnLSTM(backend, SIZES)
    const params = lstm.createParams()
    const training = await lstm.call(ones(1, 1, 2), null, null, params)
    const inference = await lstm.call(ones(1, 1, 2), null, null, params, { isTraining: false })
    expectTypeOf(training.tape).toEqualTypeOf<Tape>()
    expectTypeOf(inference.tape).toEqualTypeOf<undefined>()
    const either = (isTraining: boolean) => lstm.call(ones(1, 1, 2), null, null, params, { isTraining })
    expectTypeOf<Awaited<ReturnType<typeof either>>['tape']>().toEqualTypeOf<Tape | undefined>()
    const gru = new CudnnGRU(backend, SIZES)
    expectTypeOf(gru.call(ones(1, 1, 2), null, gru.createParams())).resolves.not.toHaveProperty('outputC')
    expect(inference.tape).toBeUndefined()
    await expect(lstm.gradients(inference.tape as never, {})).rejects.toThrow(coded('ERR_NO_TAPE'))
  })

  it('gives no cell state and no gradient of one where the cell has none', async () => {
    using backend = openReferenceBackend()
    const rnn = new CudnnRNNTanh(backend, SIZES)
    const run = await rnn.call(ones(2, 1, 2), null, rnn.createParams())
    expect(Object.keys(run).sort()).toEqual(['output', 'outputH', 'tape'])
    expect(Object.keys(await rnn.gradients(run.tape, { outputH: run.outputH })).sort()).toEqual([
      'input',
      'inputH',
      'params',
    ])
    const again = await rnn.call(ones(2, 1, 2), null, rnn.createParams())
    await expect(rnn.gradients(again.tape, { outputC: again.outputH } as never)).rejects.toThrow(
      coded('ERR_UNKNOWN_OPTION'),
    )
  })

  it('refuses the parameters of another model, and everything after dispose()', async () => {
    using backend = openReferenceBackend()
    const uni = new CudnnLSTM(backend, { ...SIZES, numLayers: 1 })
    const skip = new CudnnGRU(backend, { ...SIZES, inputSize: 3, numLayers: 1 })
    // @ts-expect-error: a GRU's parameters
    await expect(uni.paramsToCanonical(skip.createParams())).rejects.toThrow(coded('ERR_OTHER_LAYOUT'))
    const other = new CudnnLSTM(backend, { numLayers: 1, numUnits: 3, inputSize: 2, direction: 'unidirectional' })
    // The same layout under another name is the same layout.
    await expect(uni.paramsToCanonical(other.createParams())).resolves.toBeDefined()
    uni.dispose()
    uni.dispose()
    await expect(uni.call(ones(1, 1, 2), null, null, other.createParams())).rejects.toThrow(coded('ERR_RNN_DISPOSED'))
  })

  it('brings every counter back to zero when all is disposed', async () => {
    const backend = openReferenceBackend()
    {
      using lstm = new CudnnLSTM(backend, SIZES)
      using params = lstm.createParams()
      using slot = lstm.createSlot('Adam')
      expect(slot.value.layout).toBe(params.value.layout)
      const run = await lstm.call(ones(2, 1, 2), null, null, params)
      const gradients = await lstm.gradients(run.tape, { output: run.output, outputC: run.outputC })
      for (const tensor of [...Object.values(run), ...Object.values(gradients)]) tensor.dispose()
    }
    expect(backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
  })
})
