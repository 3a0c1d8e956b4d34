import { createRnnDescriptor, paramRegions, type RnnOptions } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import type { KernelExecutor, RegionMove } from '../../../src/executor/index.js'
import { packPanels, unpackPanels } from '../../../src/executor/kernels/panel_packing.js'
import { openNotingExecutor } from './noting_executor.js'

const placeOf = ({ pseudoLayer, side, gate, isBias }: RegionMove) => [pseudoLayer, side, gate, isBias].join('/')

/** Kernels that keep the tensors of regions by their place. */
function open(options: Partial<RnnOptions>) {
  const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 3, inputSize: 2, ...options })
  const { executor, memory } = openNotingExecutor()
  const kept = new Map<string, Float32Array>()
  const moveRegions: KernelExecutor['moveRegions'] = (_network, _params, moves, into) => {
    for (const move of moves) {
      if (into) kept.set(placeOf(move), (move.canonical as Float32Array).slice())
      else move.canonical.set(kept.get(placeOf(move)) ?? [])
    }
  }
  const network = executor.makeNetwork(descriptor)
  const regions = paramRegions(descriptor)
  let value = 0
  const tensorsOf = (kind: 'weights' | 'biases') =>
    regions[kind].map(({ shape, size }) => ({ data: Float32Array.from({ length: size }, () => ++value), shape }))
  const canonical = { weights: tensorsOf('weights'), biases: tensorsOf('biases') }
  const params = memory.allocate(network.paramsSize())
  return { descriptor, executor: { ...executor, moveRegions }, kept, network, regions, canonical, params }
}

describe('packPanels and unpackPanels', () => {
  it.each<[string, Partial<RnnOptions>]>([
    ['LSTM', {}],
    ['LSTM with a projection', { numProj: 2 }],
    ['bidirectional GRU', { cellMode: 'gru', direction: 'bidirectional' }],
    ['a plain cell without biases', { cellMode: 'rnn_tanh', biasMode: 'none' }],
    ['GRU that skips its input', { cellMode: 'gru', inputSize: 3, inputMode: 'skip_input' }],
  ])('give every region of %s its own place, and return it', (_, options) => {
    const { descriptor, executor, kept, network, regions, canonical, params } = open(options)
    expect(packPanels(executor, network, descriptor, canonical, params)).toBe(params)
    const sized = [...regions.weights, ...regions.biases]
    expect(kept.size).toBe(sized.length)
    const found = unpackPanels(executor, network, descriptor, params)
    expect(found).toEqual(canonical)
  })

  it('number the gates of LSTM as cuDNN does, and the sides input, recurrent, projection', () => {
    const { descriptor, executor, kept, network, canonical, params } = open({ numLayers: 1, numProj: 2 })
    packPanels(executor, network, descriptor, canonical, params)
    const weights = [...kept.keys()].filter((place) => place.endsWith('false'))
    const gates = [0, 1, 2, 3].flatMap((gate) => [`0/0/${gate}/false`, `0/1/${gate}/false`])
    expect(weights.sort()).toEqual([...gates, '0/2/0/false'].sort())
    expect(kept.get('0/2/0/false')).toHaveLength(2 * 3)
  })

  it('refuse tensors that do not fit before any is moved', () => {
    const { descriptor, executor, kept, network, canonical, params } = open({})
    const [first, ...others] = canonical.weights
    const wrong = { ...first, data: first.data.slice(1) }
    for (const [given, code] of [
      [{ ...canonical, weights: others }, 'ERR_CANONICAL_COUNT'],
      [{ ...canonical, weights: [...others, wrong] }, 'ERR_CANONICAL_SIZE'],
    ] as const) {
      expect(() => packPanels(executor, network, descriptor, given, params)).toThrow(coded(code))
    }
    expect(kept.size).toBe(0)
  })
})
