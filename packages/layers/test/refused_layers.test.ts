import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import type { GradientTape } from '@cudnn-rnn/ops/executor'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  attentionPooling,
  concat,
  conv1d,
  conv2d,
  cudnnGRU,
  cudnnLSTM,
  dense,
  embedding,
  Layer,
  type LayerDefinition,
  type LayerInput,
  layerNorm,
  sequential,
  timeDistributed,
} from '../src/index.js'
import { LayerBuild } from '../src/layer_build.js'
import type { Signal } from '../src/signal.js'

const NETWORK = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 2, inputSize: 2 })

const build = (seed?: number) => new LayerBuild(openReferenceBackend({ dtype: 'float64' }), seed)

describe('a layer that cannot be built', () => {
  const sequence: Signal = { isSequence: true, features: 2 }
  const wrong = Number.NaN
  const floats = (...data: number[]) => ({ data: Float64Array.from(data), shape: [data.length] })

  test.each<[string, string, LayerDefinition]>([
    ['dense without a bias', 'ERR_INVALID_OPTION', dense({ units: 3, biasInitializer: wrong })],
    ['layerNorm without a beta', 'ERR_SHAPE', layerNorm({ betaInitializer: floats(1, 2, 3) })],
    ['conv1d without a bias', 'ERR_INVALID_OPTION', conv1d({ filters: 1, kernelSize: 2, biasInitializer: wrong })],
    [
      'conv2d without a bias',
      'ERR_INVALID_OPTION',
      conv2d({ height: 2, filters: 1, kernelSize: [1, 2], biasInitializer: wrong }),
    ],
    ['attentionPooling without a context', 'ERR_INVALID_OPTION', attentionPooling({ contextInitializer: wrong })],
    ['embedding without a table', 'ERR_INVALID_OPTION', embedding({ size: 3, units: 2, initializer: wrong })],
    [
      'timeDistributed of such a layer',
      'ERR_INVALID_OPTION',
      timeDistributed(dense({ units: 3, biasInitializer: wrong })),
    ],
    [
      'concat, whose last branch is such a layer',
      'ERR_INVALID_OPTION',
      concat([dense({ units: 1 }), layerNorm({ betaInitializer: wrong })]),
    ],
    [
      'cudnnGRU without a kernel',
      'ERR_INVALID_OPTION',
      cudnnGRU({ numUnits: 2, kernelInitializer: 'he_normal' as never }),
    ],
    [
      'cudnnLSTM of other canonical tensors',
      'ERR_CANONICAL_COUNT',
      cudnnLSTM({ network: { descriptor: NETWORK, canonical: { weights: [], biases: [] } as never } }),
    ],
  ])('leaves neither a variable nor a network: %s', (_, code, definition) => {
    const own = build()
    const input = definition.input ?? sequence
    expect(() => definition.build(input, own)).toThrow(coded(code))
    expect(own.backend.stats()).toMatchObject({ tensors: 0, rnns: 0 })
  })

  test('leaves none of the layers before it in the model', () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    const layers = [cudnnLSTM({ numUnits: 2 }), dense({ units: 1 }), dense({ units: 3, biasInitializer: wrong })]
    expect(() => sequential(backend, layers, { inputSize: 2 })).toThrow(coded('ERR_INVALID_OPTION'))
    expect(backend.stats()).toMatchObject({ tensors: 0, rnns: 0 })
  })

  test('has no second network where its name is in use', () => {
    using backend = openReferenceBackend()
    const twice = [cudnnGRU({ numUnits: 2, name: 'top' }), cudnnGRU({ numUnits: 2, name: 'top' })]
    expect(() => sequential(backend, twice, { inputSize: 2 })).toThrow(coded('ERR_INVALID_OPTION', { option: 'name' }))
    expect(backend.stats()).toMatchObject({ tensors: 0, rnns: 0 })
  })
})

test('timeDistributed disposes its layer, with all that it holds', () => {
  using backend = openReferenceBackend()
  let disposals = 0
  class OwnLayer extends Layer {
    forward(t: GradientTape, x: LayerInput) {
      return t.activate(x, 'tanh')
    }

    override dispose(): void {
      disposals++
    }
  }
  const own: LayerDefinition = {
    kind: 'own',
    name: undefined,
    config: {},
    isStepwise: true,
    build: (input, each) => new OwnLayer(each.backend, { definition: own, name: 'own', input, output: input }),
  }
  sequential(backend, [timeDistributed(own)], { inputSize: 2 }).dispose()
  expect(disposals).toBe(1)
})
