import { createRnnDescriptor, elementCount, type RnnOptions } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { type ImportedNetwork, stackNetworks } from '../src/index.js'

/** A network whose tensors are marked by its name. */
function network(
  name: string,
  options: Partial<RnnOptions> = {},
  more: Partial<ImportedNetwork> = {},
): ImportedNetwork {
  const sizes = { numLayers: 1, numUnits: 2, inputSize: 2, inputMode: 'linear_input' } as const
  const tensor = (kind: string) => ({ data: Float32Array.of(1), shape: [1], kind: `${kind} of ${name}` })
  return {
    ...{ name, convention: 'onnx', descriptor: createRnnDescriptor({ cellMode: 'lstm', ...sizes, ...options }) },
    ...{ canonical: { weights: [tensor('weight')], biases: [tensor('bias')] }, reverse: false, inputs: {} },
    ...{ tensorNames: [`${name}/W`], notes: ['the same note', `a note of ${name}`] },
    ...more,
  }
}

const state = (first: number, shape: readonly number[]) => ({
  data: Float32Array.from({ length: elementCount(shape) }, (_, k) => first + k),
  shape,
})
const initialH = (first: number, ...shape: readonly number[]) => ({ inputs: { initialH: state(first, shape) } })
const refusal = expect.objectContaining({ name: 'RangeError', code: 'ERR_STACK' })

describe('stackNetworks', () => {
  it('joins layers, tensors, names and notes in the order of computation', () => {
    const parts = [network('a', { inputSize: 3, numLayers: 2 }), network('b')]
    const stacked = stackNetworks(parts)
    expect(stacked.descriptor).toMatchObject({ numLayers: 3, inputSize: 3, numUnits: 2, dropout: 0 })
    expect(stacked.canonical.weights).toEqual(parts.flatMap(({ canonical }) => canonical.weights))
    expect(stacked.canonical.biases).toEqual(parts.flatMap(({ canonical }) => canonical.biases))
    expect(stacked).toMatchObject({ name: 'a+b', convention: 'onnx', reverse: false, inputs: {} })
    expect(stacked.tensorNames).toEqual(['a/W', 'b/W'])
    expect(stacked.notes).toEqual(['the same note', 'a note of a', 'a note of b'])
  })

  it('fits the input of each network to both directions, or the projection, before it', () => {
    const both = { direction: 'bidirectional' } as const
    expect(stackNetworks([network('a', both), network('b', { ...both, inputSize: 4 })]).descriptor.numLayers).toBe(2)
    const projected = [network('a', { numProj: 1 }), network('b', { numProj: 1, inputSize: 1 })]
    expect(stackNetworks(projected).descriptor).toMatchObject({ numLayers: 2, numProj: 1 })
  })

  it('keeps the bias mode and a skipped input of the first', () => {
    const options = { biasMode: 'single_input', inputMode: 'skip_input' } as const
    const above = network('b', { biasMode: 'single_input' })
    expect(stackNetworks([network('a', options), above]).descriptor).toMatchObject(options)
  })

  it('joins the initial states, with zeros for a network that has none', () => {
    const [a, c] = [network('a', { numLayers: 2 }, initialH(1, 2, 1, 2)), network('c', {}, initialH(9, 1, 1, 2))]
    const { inputs } = stackNetworks([a, network('b'), c])
    expect(inputs).toEqual({ initialH: { data: Float32Array.of(1, 2, 3, 4, 0, 0, 9, 10), shape: [4, 1, 2] } })
    expect(stackNetworks([network('b'), c]).inputs.initialH).toEqual({
      data: Float32Array.of(0, 0, 9, 10),
      shape: [2, 1, 2],
    })
  })

  it('copies the states, and keeps float64 where all are', () => {
    const double = { data: Float64Array.of(0.1, 0.2), shape: [1, 1, 2] }
    const { inputs } = stackNetworks([network('a', {}, { inputs: { initialC: double } })])
    expect(inputs.initialC).toEqual(double)
    expect(inputs.initialC?.data).not.toBe(double.data)
    const mixed = [network('a', {}, { inputs: { initialH: double } }), network('b', {}, initialH(1, 1, 1, 2))]
    expect(stackNetworks(mixed).inputs.initialH?.data).toEqual(Float32Array.of(0.1, 0.2, 1, 2))
  })

  it('keeps the lengths that all have', () => {
    const inputs = { sequenceLengths: [3, 1] }
    expect(stackNetworks([network('a', {}, { inputs }), network('b', {}, { inputs })]).inputs).toEqual(inputs)
  })

  it.each<[string, readonly ImportedNetwork[]]>([
    ['no networks', []],
    ['another cell', [network('a'), network('b', { cellMode: 'gru' })]],
    ['other units', [network('a'), network('b', { numUnits: 3 })]],
    ['another direction', [network('a'), network('b', { direction: 'bidirectional' })]],
    ['another projection', [network('a', { numProj: 1 }), network('b', { inputSize: 1 })]],
    ['another clip', [network('a', { cellClip: 1 }), network('b')]],
    ['another bias mode', [network('a'), network('b', { biasMode: 'single_input' })]],
    ['another input size', [network('a'), network('b', { inputSize: 3 })]],
    ['a reversed layer', [network('a'), network('b', {}, { reverse: true })]],
    ['a skipped input above the first', [network('a'), network('b', { inputMode: 'skip_input' })]],
    ['a skipped input of two', new Array(2).fill(network('a', { inputMode: 'skip_input' }))],
    ['states of other rows', [network('a', {}, initialH(1, 1, 1, 2)), network('b', {}, initialH(1, 1, 2, 2))]],
    ['states of other layers', [network('a', { numLayers: 2 }, initialH(1, 1, 1, 2))]],
    ['lengths of one alone', [network('a'), network('b', {}, { inputs: { sequenceLengths: [1] } })]],
    ['other lengths', [1, 2].map((length) => network('a', {}, { inputs: { sequenceLengths: [length] } }))],
  ])('refuses %s and changes no network', (_, networks) => {
    const before = structuredClone(networks)
    expect(() => stackNetworks(networks)).toThrow(refusal)
    expect(networks).toEqual(before)
  })

  it.each([undefined, null, 'networks', [null], [{ name: 'a' }], [{ ...network('a'), inputs: 3 }]])(
    'refuses %j as its argument',
    (networks) => {
      const code = coded('ERR_INVALID_ARGUMENT')
      expect(() => stackNetworks(networks as never)).toThrow(code)
    },
  )
})
