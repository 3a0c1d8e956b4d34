import { describe, expect, it } from 'vitest'
import {
  createRnnDescriptor,
  hiddenColumns,
  layerInputSize,
  numDirections,
  numGates,
  numPseudoLayers,
  outputSize,
  paramRegions,
  type RnnOptions,
} from '../src/index.js'

const regionsOf = (options: Partial<RnnOptions>) =>
  paramRegions(createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 4, inputSize: 3, ...options }))

describe('paramRegions', () => {
  it('lists layers, in them directions, in them sides, in them gates', () => {
    const { weights } = regionsOf({ cellMode: 'gru', direction: 'bidirectional' })
    const order = weights.map(({ layer, direction, side, gate }) => `${layer} ${direction} ${side} ${gate}`)
    expect(order).toHaveLength(2 * 2 * 6)
    expect(order.slice(0, 7)).toEqual([
      '0 0 input reset',
      '0 0 input update',
      '0 0 input new_memory',
      '0 0 recurrent reset',
      '0 0 recurrent update',
      '0 0 recurrent new_memory',
      '0 1 input reset',
    ])
    expect(weights.map(({ linLayerId }) => linLayerId).slice(0, 6)).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('gives upper layers the output of both directions as input, P columns each', () => {
    const { weights } = regionsOf({ direction: 'bidirectional', numProj: 2 })
    const shapes = weights.filter(({ layer, direction }) => layer === 1 && direction === 0).map(({ shape }) => shape)
    expect(shapes).toEqual([...Array(4).fill([4, 4]), ...Array(4).fill([4, 2]), [2, 4]])
  })

  it('gives the projection linear-layer id 8, no gate and no bias', () => {
    const { weights, biases } = regionsOf({ numProj: 2 })
    expect(weights[8]).toMatchObject({ side: 'projection', gate: undefined, linLayerId: 8, shape: [2, 4], size: 8 })
    expect(weights).toHaveLength(18)
    expect(biases).toHaveLength(16)
  })

  it('keeps the length of its lists for skip_input: the input side of layer 0 has size 0, its biases stay', () => {
    const { weights, biases } = regionsOf({ inputSize: 4, direction: 'bidirectional' })
    const empty = weights.filter(({ size }) => size === 0)
    expect(weights).toHaveLength(32)
    expect(empty.map(({ layer, side, shape }) => [layer, side, ...shape])).toEqual(Array(8).fill([0, 'input', 4, 0]))
    expect(biases.every(({ size }) => size === 4)).toBe(true)
  })

  it.each([
    ['double', [4, 4]],
    ['single_input', [4, 0]],
    ['single_recurrent', [0, 4]],
    ['none', [0, 0]],
  ] as const)('sizes input and recurrent biases for bias mode %s as %j', (biasMode, sizes) => {
    const { biases } = regionsOf({ biasMode })
    expect([biases[0].size, biases[4].size]).toEqual(sizes)
    expect(biases).toHaveLength(16)
  })
})

describe('dimensions', () => {
  const descriptor = createRnnDescriptor({
    cellMode: 'lstm',
    numLayers: 3,
    numUnits: 5,
    inputSize: 7,
    numProj: 2,
    direction: 'bidirectional',
  })

  it('are those of a projected bidirectional network', () => {
    expect(numGates(descriptor)).toBe(4)
    expect(numDirections(descriptor)).toBe(2)
    expect(hiddenColumns(descriptor)).toBe(2)
    expect(outputSize(descriptor)).toBe(4)
    expect(layerInputSize(descriptor, 0)).toBe(7)
    expect(layerInputSize(descriptor, 1)).toBe(4)
    expect(numPseudoLayers(descriptor)).toBe(6)
  })
})
