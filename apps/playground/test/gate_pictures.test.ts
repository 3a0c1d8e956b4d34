import { createRnnDescriptor, paramRegions } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { gatePictures, largest, pooled } from '../src/weights/gate_pictures.js'

/** A network whose weight matrix k has the value k + 1 everywhere. */
function network(options: Partial<Parameters<typeof createRnnDescriptor>[0]>) {
  const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 3, inputSize: 2, ...options })
  const { weights, biases } = paramRegions(descriptor)
  const filled = ({ shape, size }: (typeof weights)[number], value: number) => ({
    data: new Float32Array(size).fill(value),
    shape,
  })
  return {
    name: 'network',
    descriptor,
    canonical: {
      weights: weights.map((region, k) => filled(region, k + 1)),
      biases: biases.map((region) => filled(region, 0)),
    },
  } as unknown as Parameters<typeof gatePictures>[0]
}

describe('gatePictures', () => {
  it('has a group for each side, with the gates in the order of the cell and one scale for all', () => {
    const groups = gatePictures(network({}))
    expect(groups.map(({ title }) => title)).toEqual(['Layer 1, input weights', 'Layer 1, recurrent weights'])
    const [input, recurrent] = groups
    expect(input?.gates.map(({ gate }) => gate)).toEqual(['input', 'forget', 'new memory', 'output'])
    expect(input?.gates.map(({ matrix }) => matrix.values[0])).toEqual([1, 2, 3, 4])
    expect(input?.gates.map(({ limit }) => limit)).toEqual([4, 4, 4, 4])
    expect(recurrent?.gates.map(({ limit }) => limit)).toEqual([8, 8, 8, 8])
    expect([input?.gates[0]?.shape, recurrent?.gates[0]?.shape]).toEqual([
      [3, 2],
      [3, 3],
    ])
  })

  it('names layers and directions', () => {
    const groups = gatePictures(network({ cellMode: 'rnn_tanh', numLayers: 2, direction: 'bidirectional' }))
    expect(groups.map(({ title }) => title)).toEqual(
      ['Layer 1', 'Layer 2'].flatMap((layer) =>
        ['forward', 'backward'].flatMap((direction) =>
          ['input', 'recurrent'].map((side) => `${layer}, ${direction}, ${side} weights`),
        ),
      ),
    )
    expect(groups.every(({ gates }) => gates.length === 1)).toBe(true)
  })

  it('leaves out the matrices that a network without input weights does not have', () => {
    const groups = gatePictures(network({ inputMode: 'skip_input', inputSize: 3 }))
    expect(groups.map(({ title }) => title)).toEqual(['Layer 1, recurrent weights'])
  })
})

describe('pooled', () => {
  const matrix = (rows: number, columns: number) => ({ rows, columns, values: new Float32Array(rows * columns) })

  it('leaves a matrix of up to 160 rows and columns as it is', () => {
    const small = matrix(160, 160)
    expect(pooled(small)).toBe(small)
  })

  it.each([
    [161, 1, 81, 1],
    [1, 320, 1, 160],
    [161, 481, 81, 121],
  ])('of %d × %d has %d × %d cells, and keeps the last value', (rows, columns, fewerRows, fewerColumns) => {
    const large = matrix(rows, columns)
    large.values[rows * columns - 1] = -0.5
    const small = pooled(large)
    expect([small.rows, small.columns]).toEqual([fewerRows, fewerColumns])
    expect(small.values).toHaveLength(fewerRows * fewerColumns)
    expect(small.values.at(-1)).toBe(-0.5)
  })
})

describe('largest', () => {
  it('is the largest magnitude, 0 for nothing', () => {
    expect([largest(Float32Array.of(1, -3, 2)), largest(new Float32Array(0))]).toEqual([3, 0])
  })

  it('leaves out values that are not finite, so that the others keep their colors', () => {
    expect(largest(Float32Array.of(1, Number.NaN, Number.NEGATIVE_INFINITY, -2))).toBe(2)
  })
})
