import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it, onTestFinished } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  activation,
  conv1d,
  conv2d,
  cudnnLSTM,
  dense,
  type LayerDefinition,
  loadModel,
  maxPool1d,
  maxPool2d,
  sequential,
} from '../../src/index.js'
import { averagePool1d, spreadSteps } from '../../src/kinds/step_windows.js'
import { waves } from '../small_data.js'

/** A reader of pictures of 6 rows, in the manner of networks for OCR. */
const READER: readonly LayerDefinition[] = [
  conv2d({ height: 6, filters: 3, kernelSize: [3, 3], padding: 'same', activation: 'relu' }),
  maxPool2d({ height: 6, padding: 'same' }),
  conv1d({ filters: 5, kernelSize: 2, padding: 'causal' }),
  maxPool1d({ poolSize: 2, strides: 1, padding: 'same' }),
  activation('relu', { maximum: 4 }),
  cudnnLSTM({ numUnits: 6, direction: 'bidirectional' }),
  dense({ units: 4 }),
]

it('save and loadModel keep layers of windows', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'windows-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  using backend = openReferenceBackend()
  using model = sequential(backend, READER, { seed: 5, inputSize: 6 })
  await model.save(join(folder, 'model'))
  using again = await loadModel(backend, join(folder, 'model'))
  const x = waves([5, 1, 6], undefined, Float32Array as never)
  expect(await again.predict(x)).toEqual(await model.predict(x))
  expect(again.summary()).toBe(model.summary())
})

describe('refused:', () => {
  const cases: readonly (readonly [string, string, () => unknown])[] = [
    ['as many zeros as a window', 'ERR_INVALID_OPTION', () => conv1d({ filters: 1, kernelSize: 2, padding: 2 })],
    ['no filters', 'ERR_INVALID_OPTION', () => conv1d({ filters: 0, kernelSize: 2 })],
    ['half a step', 'ERR_INVALID_OPTION', () => conv1d({ filters: 1, kernelSize: 1.5 })],
    [
      'an unknown padding',
      'ERR_INVALID_OPTION',
      () => conv1d({ filters: 1, kernelSize: 1, padding: 'full' as 'same' }),
    ],
    [
      'a causal picture',
      'ERR_INVALID_OPTION',
      () => conv2d({ height: 2, filters: 1, kernelSize: [1, 1], padding: 'causal' as 'same' }),
    ],
    ['a size of one axis', 'ERR_INVALID_OPTION_TYPE', () => maxPool2d({ height: 2, poolSize: 2 as never })],
    ['a size of three axes', 'ERR_INVALID_OPTION', () => maxPool2d({ height: 2, poolSize: [2, 2, 2] as never })],
    ['a maximum of tanh', 'ERR_INVALID_OPTION', () => activation('tanh', { maximum: 1 })],
    ['an unknown option', 'ERR_UNKNOWN_OPTION', () => maxPool1d({ size: 2 } as never)],
  ]
  it.each(cases)('%s (%s)', (_, code, make) => {
    expect(make).toThrow(coded(code))
  })

  it('rows that are not whole, naming both layers', () => {
    using backend = openReferenceBackend()
    const layers = [dense({ units: 7 }), conv2d({ height: 3, filters: 1, kernelSize: [1, 1] })]
    expect(() => sequential(backend, layers, { inputSize: 2 })).toThrow(
      /conv2d takes \[T,B,3·C\]: dense \(dense\) before it gives \[T,B,7\]/,
    )
    expect(backend.stats().tensors).toBe(0)
  })

  it.each([
    ['conv1d', conv1d({ filters: 1, kernelSize: 3 })],
    ['conv1d with zeros by number', conv1d({ filters: 1, kernelSize: 5, padding: 1 })],
    ['conv2d', conv2d({ filters: 1, height: 2, kernelSize: [3, 1] })],
    ['maxPool1d', maxPool1d({ poolSize: 3 })],
    ['averagePool1d', averagePool1d({ poolSize: 3, strides: 1, padding: 'valid' })],
    ['spreadSteps that crops', spreadSteps({ croppedBefore: 1, croppedAfter: 1, zerosAfter: 1 })],
  ])('a sequence shorter than the window, alone and as a row of a batch: %s', async (_, layer) => {
    using backend = openReferenceBackend()
    using model = sequential(backend, [layer], { inputSize: 2 })
    const rows = { data: new Float32Array(16), shape: [4, 2, 2] }
    const refused = coded('ERR_SHAPE', { minimum: 3, value: 2 })
    await expect(model.predict({ data: new Float32Array(4), shape: [2, 1, 2] })).rejects.toThrow(refused)
    await expect(model.predict(rows, { sequenceLengths: [4, 2] })).rejects.toThrow(refused)
    const { shape } = await model.predict(rows, { sequenceLengths: [4, 0] })
    expect(shape[1]).toBe(2)
  })
})
