import { createRnnDescriptor, flatLayout, type RnnOptions } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { gateRows, layerMatrices, layerParams } from '../src/layer_params.js'

function paramsOf(options: Partial<RnnOptions>) {
  const descriptor = createRnnDescriptor({
    cellMode: 'lstm',
    numLayers: 1,
    numUnits: 3,
    inputSize: 2,
    ...options,
  } as RnnOptions)
  const layout = flatLayout(descriptor)
  return { descriptor, layout, params: layerParams(descriptor, layout) }
}

describe('layerParams', () => {
  it('places W before R, and both biases after all matrices', () => {
    // 4 gates of 3 units: W [12,2], R [12,3], b_W [12], b_R [12].
    const { params, layout } = paramsOf({})
    expect(params).toEqual([
      { inputSize: 2, inputMatrix: 0, recurrentMatrix: 24, projection: undefined, inputBias: 60, recurrentBias: 72 },
    ])
    expect(layout.size).toBe(84)
  })

  it('feeds the layers above both directions of the one below', () => {
    // GRU, 3 gates of 2 units, inputs of 5 columns: W [6,5] or [6,4], R [6,2].
    const { params } = paramsOf({
      cellMode: 'gru',
      numUnits: 2,
      inputSize: 5,
      numLayers: 2,
      direction: 'bidirectional',
    })
    expect(params.map(({ inputSize }) => inputSize)).toEqual([5, 5, 4, 4])
    expect(params.map(({ inputMatrix }) => inputMatrix)).toEqual([0, 42, 84, 120])
    expect(params.map(({ recurrentMatrix }) => recurrentMatrix)).toEqual([30, 72, 108, 144])
    // 156 weights, then 6 + 6 biases for each.
    expect(params.map(({ inputBias, recurrentBias }) => [inputBias, recurrentBias])).toEqual([
      [156, 162],
      [168, 174],
      [180, 186],
      [192, 198],
    ])
  })

  it.each([
    ['none', undefined, undefined],
    ['single_input', 15, undefined],
    ['single_recurrent', undefined, 15],
    ['double', 15, 18],
  ] as const)('has the biases of biasMode %s', (biasMode, inputBias, recurrentBias) => {
    const [own] = paramsOf({ cellMode: 'rnn_tanh', biasMode }).params
    expect([own.inputBias, own.recurrentBias]).toEqual([inputBias, recurrentBias])
  })

  it('has no input matrix in the first layer of a network that skips its input', () => {
    const { params } = paramsOf({ cellMode: 'rnn_relu', inputMode: 'skip_input', inputSize: 3, numLayers: 2 })
    expect(params.map(({ inputMatrix, recurrentMatrix }) => [inputMatrix, recurrentMatrix])).toEqual([
      [undefined, 0],
      [9, 18],
    ])
  })

  it('has a projection [P,H], and recurrent matrices of P columns', () => {
    // W [12,2] at 0, R [12,2] at 24, projection [2,3] at 48.
    const { params, descriptor, layout } = paramsOf({ numProj: 2 })
    expect(params[0]).toMatchObject({ inputMatrix: 0, recurrentMatrix: 24, projection: 48, inputBias: 54 })
    const flat = Float64Array.from({ length: layout.size }, (_, k) => k)
    const { projection, recurrent } = layerMatrices(descriptor, params[0], flat)
    expect(projection).toMatchObject({ data: flat })
    expect(recurrent).toMatchObject({ data: flat })
  })
})

describe('gateRows', () => {
  it.each([
    ['lstm', 12],
    ['gru', 9],
    ['rnn_tanh', 3],
    ['rnn_relu', 3],
  ] as const)('of %s with 3 units are %i', (cellMode, rows) => {
    expect(gateRows(paramsOf({ cellMode }).descriptor)).toBe(rows)
  })
})
