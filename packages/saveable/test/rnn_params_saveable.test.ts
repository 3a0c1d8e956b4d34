import { openCheckpoint } from '@cudnn-rnn/checkpoint'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { RNNParamsSaveable, Saver } from '../src/index.js'
import { build, type Case, MODELS, temporaryPrefix, valuesOf } from './small_models.js'

const saveableOf = ({ model, params }: ReturnType<typeof build>, name?: string) =>
  new RNNParamsSaveable(model.paramsToCanonical, model.canonicalToParams, [params], name)

const CASES: Case[] = [
  ...(Object.keys(MODELS) as (keyof typeof MODELS)[]).flatMap((model): Case[] => [
    { model },
    { model, direction: 'bidirectional' },
    { model, numLayers: 1, inputSize: 7 },
  ]),
  { model: 'CudnnLSTM', numProj: 4, direction: 'bidirectional' },
]

// cudnn_rnn_ops_test.py, testSaveRestore: save, set to zero, restore, equal bit for bit.
describe.each(['default', 'tf-1.2', 'tf-1.3'] as const)('testSaveRestore with the keys of %s', (naming) => {
  it.each(CASES)('%o', async (options) => {
    const run = build(options)
    const before = await valuesOf(run.params)
    const saver = new Saver([saveableOf(run)], { naming })
    const prefix = await saver.save(await temporaryPrefix())
    run.params.assign({ data: new Float32Array(before.length), shape: [before.length] })
    await saver.restore(prefix)
    expect(await valuesOf(run.params)).toEqual(before)
  })
})

describe('restore', () => {
  it.each(CASES)('takes weights and biases in canonical order, as in TensorFlow: %o', async (options) => {
    const run = build(options)
    const before = await valuesOf(run.params)
    const { weights, biases } = await run.model.paramsToCanonical(run.params)
    run.params.assign({ data: new Float32Array(before.length), shape: [before.length] })
    const restored = [...weights, ...biases]
    await saveableOf(run).restore(
      restored,
      restored.map(({ shape }) => shape),
    )
    expect(await valuesOf(run.params)).toEqual(before)
  })

  it('refuses other tensors, and leaves the variables as they are', async () => {
    const run = build({ model: 'CudnnGRU' })
    const before = await valuesOf(run.params)
    const { weights, biases } = await run.model.paramsToCanonical(run.params)
    const restored = [...weights, ...biases]
    const saveable = saveableOf(run)
    await expect(saveable.restore(restored.slice(0, -1))).rejects.toMatchObject(coded('ERR_CANONICAL_COUNT'))
    await expect(
      saveable.restore([{ data: new Float32Array(1), shape: [1] }, ...restored.slice(1)]),
    ).rejects.toMatchObject(coded('ERR_CANONICAL_SIZE'))
    await expect(saveable.restore(undefined as never)).rejects.toMatchObject(coded('ERR_INVALID_ARGUMENT'))
    expect(await valuesOf(run.params)).toEqual(before)
  })
})

describe('keys', () => {
  const keysOf = async (options: Case, naming: 'default' | 'tf-1.2' | 'tf-1.3', name?: string) => [
    ...(await saveableOf(build(options), name).tensors(naming)).keys(),
  ]

  it('are <name>/layer_<l>/<direction>/<kind>_<k> by default', async () => {
    const keys = await keysOf({ model: 'CudnnGRU', direction: 'bidirectional' }, 'default', 'encoder')
    expect(keys).toHaveLength(2 * 2 * 12)
    expect(keys).toContain('encoder/layer_0/forward/weight_0')
    expect(keys).toContain('encoder/layer_1/backward/bias_5')
  })

  it('are the outputs of CudnnRNNParamsToCanonical in TensorFlow 1.2', async () => {
    expect((await keysOf({ model: 'CudnnRNNTanh' }, 'tf-1.2')).slice(0, 2)).toEqual([
      'CudnnRNNParamsToCanonical:0',
      'CudnnRNNParamsToCanonical:1',
    ])
    expect((await keysOf({ model: 'CudnnRNNTanh' }, 'tf-1.2', 'enc'))[7]).toBe('enc/CudnnRNNParamsToCanonical:7')
    expect((await keysOf({ model: 'CudnnRNNTanh' }, 'tf-1.2', 'CudnnRNNParamsToCanonical_1'))[0]).toBe(
      'CudnnRNNParamsToCanonical_1:0',
    )
  })

  it('are those of the cells beside both biases in TensorFlow 1.3, the space in GRU’s included', async () => {
    const cell = 'rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell'
    expect(await keysOf({ model: 'CudnnLSTM', numLayers: 1 }, 'tf-1.3', 'rnn')).toEqual(
      ['kernel', 'bias', 'bias_cudnn_0', 'bias_cudnn_1'].map((variable) => `${cell}/${variable}`),
    )
    const gru = await keysOf({ model: 'CudnnGRU', numLayers: 1 }, 'tf-1.3')
    expect(gru).toContain('multi_rnn_cell/cell_0/cudnn_compatible_gru_cell/bias_cudnn 0')
    expect((await keysOf({ model: 'CudnnLSTM', direction: 'bidirectional' }, 'tf-1.3'))[0]).toBe(
      'CudnnRNNParamsToCanonical:0',
    )
  })
})

it('several saveables share one checkpoint under different names; slots are saved canonically too', async () => {
  const [encoder, decoder] = [build({ model: 'CudnnLSTM' }, 1), build({ model: 'CudnnGRU' }, 2)]
  const slot = encoder.model.createSlot('encoder/Adam')
  slot.assign(encoder.params.value)
  const saver = new Saver([
    saveableOf(encoder, 'encoder'),
    saveableOf(decoder, 'decoder'),
    new RNNParamsSaveable(encoder.model.paramsToCanonical, encoder.model.canonicalToParams, [slot], 'encoder/Adam'),
  ])
  const expected = [await valuesOf(encoder.params), await valuesOf(decoder.params), await valuesOf(slot)]
  const prefix = await saver.save(await temporaryPrefix(), { globalStep: 3 })
  for (const variable of [encoder.params, decoder.params, slot]) {
    variable.assign({ data: new Float32Array(variable.shape[0]!), shape: variable.shape })
  }
  await saver.restore(prefix)
  expect([await valuesOf(encoder.params), await valuesOf(decoder.params), await valuesOf(slot)]).toEqual(expected)
})

it('old shapes are taken by their number of elements: 1-D, or rows and columns exchanged', async () => {
  const { writeCheckpoint } = await import('@cudnn-rnn/checkpoint')
  const run = build({ model: 'CudnnRNNTanh', numLayers: 1 })
  const before = await valuesOf(run.params)
  const saver = new Saver([saveableOf(run)], { naming: 'tf-1.2' })
  const source = await openCheckpoint(await saver.save(await temporaryPrefix()))
  const relabeled = [0, 1, 2, 3].map(async (index) => {
    const key = `CudnnRNNParamsToCanonical:${index}`
    const { data, shape } = await source.read(key)
    return [key, { data, shape: index === 0 ? [...shape].reverse() : [data.length] }] as const
  })
  const prefix = await temporaryPrefix()
  await writeCheckpoint(prefix, await Promise.all(relabeled))
  await source.close()
  run.params.assign({ data: new Float32Array(before.length), shape: [before.length] })
  await saver.restore(prefix)
  expect(await valuesOf(run.params)).toEqual(before)
})

it('refuses to be made without a variable', () => {
  const { model } = build({ model: 'CudnnGRU' })
  expect(() => new RNNParamsSaveable(model.paramsToCanonical, model.canonicalToParams, [])).toThrow(
    coded('ERR_NO_VARIABLE'),
  )
})

it('refuses a variable where a list belongs, and a model where its conversions do', () => {
  const { model, params } = build({ model: 'CudnnGRU' })
  const { paramsToCanonical, canonicalToParams } = model
  expect(() => new RNNParamsSaveable(paramsToCanonical, canonicalToParams, params as never)).toThrow(
    coded('ERR_INVALID_ARGUMENT'),
  )
  expect(() => new RNNParamsSaveable(model as never, canonicalToParams, [params])).toThrow(
    coded('ERR_INVALID_ARGUMENT'),
  )
})
