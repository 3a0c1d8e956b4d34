import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tensor } from '@cudnn-rnn/canonical'
import { LSTMCell } from '@cudnn-rnn/cells'
import { CudnnLSTM } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  attentionPooling,
  concat,
  cudnnGRU,
  cudnnLSTM,
  dense,
  dropout,
  embedding,
  type LayerDefinition,
  lastStep,
  layerNorm,
  loadModel,
  meanOverTime,
  reverse,
  rnn,
  sequential,
  timeDistributed,
} from '../src/index.js'
import { values, waves } from './small_data.js'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cudnn-rnn-layers-'))
})
afterEach(() => rm(directory, { recursive: true }))

describe('tensors as initial values', () => {
  test('are those of the variables, of every kind of layer', async () => {
    using backend = openReferenceBackend()
    const floats = (shape: readonly number[], offset: number): Tensor<Float32Array> => {
      return { data: Float32Array.from(waves(shape, [0.8, 0.37, offset]).data), shape }
    }
    const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 2, inputSize: 3 })
    const params = lstm.createParams({ seed: 9 })
    const canonical = await lstm.paramsToCanonical(params)
    const [table, gamma, beta] = [floats([4, 3], 0.1), floats([3], 0.2), floats([3], 0.3)]
    const [context, kernel, bias] = [floats([2, 1], 0.4), floats([2, 2], 0.5), floats([2], 0.6)]
    using model = sequential(backend, [
      embedding({ size: 4, units: 3, initializer: table }),
      layerNorm({ gammaInitializer: gamma, betaInitializer: beta }),
      cudnnLSTM({ network: { descriptor: lstm.descriptor, canonical } }),
      attentionPooling({ isLinear: true, contextInitializer: context }),
      dense({ units: 2, kernelInitializer: kernel, biasInitializer: bias }),
    ])
    const values = await Promise.all(model.variables.map(({ value }) => value.read()))
    const opaque = await params.value.read()
    expect(values).toEqual([table, gamma, beta, opaque, context, kernel, bias])
    params.dispose()
    lstm.dispose()
  })

  test('of another shape are refused', () => {
    using backend = openReferenceBackend()
    const layers = [dense({ units: 2, kernelInitializer: { data: new Float32Array(6), shape: [2, 3] } })]
    expect(() => sequential(backend, layers, { inputSize: 3 })).toThrow(coded('ERR_SHAPE'))
    expect(backend.stats().tensors).toBe(0)
  })

  test('that no array can hold are refused', () => {
    using backend = openReferenceBackend()
    const layers = [dense({ units: 2 })]
    expect(() => sequential(backend, layers, { inputSize: 2 ** 40 })).toThrow(coded('ERR_OUT_OF_MEMORY'))
    expect(backend.stats().tensors).toBe(0)
  })
})

describe('sequential refuses, before anything is computed,', () => {
  const cases: readonly (readonly [string, string, readonly unknown[], object, RegExp])[] = [
    ['no layers', 'ERR_NOT_A_LAYER', [], {}, /at least one layer/],
    ['a layer that was not called', 'ERR_NOT_A_LAYER', [lastStep], {}, /call it/],
    ['an input of unknown size', 'ERR_UNKNOWN_INPUT', [dense({ units: 2 })], {}, /dense/],
    [
      'two pools, naming both layers and shapes',
      'ERR_LAYERS_DO_NOT_FIT',
      [embedding({ size: 3, units: 4 }), lastStep(), meanOverTime()],
      {},
      /meanOverTime takes \[T,B,E\]: last_step \(lastStep\) before it gives \[B,4\]/,
    ],
    [
      'an embedding of numbers',
      'ERR_LAYERS_DO_NOT_FIT',
      [dense({ units: 4 }), embedding({ size: 3, units: 4, name: 'words' })],
      { inputSize: 2 },
      /embedding words takes \[T,B\] or \[B\] of class ids: dense \(dense\) before it gives \[T,B,4\]/,
    ],
    [
      'a recurrent layer of another input size',
      'ERR_LAYERS_DO_NOT_FIT',
      [dense({ units: 4 }), cudnnGRU({ numUnits: 2, inputSize: 3 })],
      { inputSize: 2 },
      /cudnnGRU takes \[T,B,3\]: dense \(dense\) before it gives \[T,B,4\]/,
    ],
    [
      'branches of unequal kinds',
      'ERR_LAYERS_DO_NOT_FIT',
      [concat([lastStep(), reverse()])],
      { inputSize: 2 },
      /last_step gives \[B,2\], reverse gives \[T,B,2\]/,
    ],
    [
      'two layers of one name',
      'ERR_INVALID_OPTION',
      [dense({ units: 1, name: 'a' }), reverse({ name: 'a' })],
      { inputSize: 2 },
      /its own/,
    ],
    ['an unknown option', 'ERR_UNKNOWN_OPTION', [dense({ units: 1 })], { inputsize: 2 }, /inputSize/],
    ['a seed that is none', 'ERR_INVALID_OPTION', [dense({ units: 1 })], { inputSize: 2, seed: -1 }, /seed/],
    [
      'a cell of another dtype',
      'ERR_INVALID_OPTION',
      [rnn(new LSTMCell(2, { dtype: 'float64' }))],
      { inputSize: 2 },
      /float64/,
    ],
  ]
  test.each(cases)('%s (%s)', (_, code, layers, options, message) => {
    using backend = openReferenceBackend()
    const build = () => sequential(backend, layers as LayerDefinition[], options)
    expect(build).toThrow(coded(code))
    expect(build).toThrow(message)
    expect(backend.stats()).toMatchObject({ tensors: 0, rnns: 0 })
  })

  test.each([
    ['dense without units', 'ERR_INVALID_OPTION_TYPE', () => dense({} as never)],
    ['an unknown activation', 'ERR_INVALID_OPTION', () => dense({ units: 1, activation: 'cosine' as never })],
    ['a rate above 1', 'ERR_INVALID_OPTION', () => dropout({ rate: 2 })],
    ['a rate of another kind', 'ERR_INVALID_OPTION_TYPE', () => dropout({ rate: '0.5' as never })],
    ['a misspelled option', 'ERR_UNKNOWN_OPTION', () => cudnnLSTM({ numUnit: 3 } as never)],
    ['steps of a pooling', 'ERR_INVALID_OPTION', () => timeDistributed(lastStep())],
    ['sequences for no layer', 'ERR_INVALID_OPTION', () => timeDistributed([], { steps: 2 })],
    ['sequences of rows', 'ERR_INVALID_OPTION', () => timeDistributed(dense({ units: 1 }), { steps: 2, height: 2 })],
    ['layers without steps', 'ERR_NOT_A_LAYER', () => timeDistributed([dense({ units: 1 })])],
    ['a cell that is none', 'ERR_NOT_A_LAYER', () => rnn({} as never)],
    ['no branches', 'ERR_NOT_A_LAYER', () => concat([])],
  ])('%s (%s)', (_, code, make) => expect(make).toThrow(coded(code)))

  test.each([
    ['no backend', undefined],
    ['a promise', Promise.resolve()],
  ])('%s', (_, backend) => {
    expect(() => sequential(backend as never, [reverse()], { inputSize: 1 })).toThrow(coded('ERR_NOT_A_BACKEND'))
  })
})

describe('loadModel refuses', () => {
  test('values that are not models, and unknown layers', async () => {
    using backend = openReferenceBackend()
    const path = join(directory, 'model')
    const layers = () => [rnn(new LSTMCell(2), { name: 'mine' }), lastStep()]
    using model = sequential(backend, layers(), { inputSize: 3, seed: 4 })
    await model.save(path)
    await expect(loadModel(backend, path)).rejects.toThrow(coded('ERR_UNKNOWN_LAYER'))
    await expect(loadModel(backend, path)).rejects.toThrow(/loadModel\(…, \{ layers: \{ mine: rnn\(new LSTMCell/)
    using again = await loadModel(backend, path, { layers: { mine: layers()[0] } })
    expect(await values(again)).toEqual(await values(model))
    await expect(loadModel(backend, join(directory, 'none'))).rejects.toThrow(coded('ERR_CHECKPOINT_NOT_FOUND'))
    const { tensors } = backend.stats()
    const other = rnn(new LSTMCell(5), { name: 'mine' })
    await expect(loadModel(backend, path, { layers: { mine: other } })).rejects.toThrow(/\[/)
    expect(backend.stats().tensors).toBe(tensors)
  })
})
