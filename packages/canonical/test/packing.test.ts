import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { createRnnDescriptor, flatLayout, packCanonical, unpackCanonical } from '../src/index.js'
import { canonicalFilled, countedCanonical, descriptors, RUNS } from './arbitraries.js'

const layout = flatLayout(createRnnDescriptor({ cellMode: 'rnn_tanh', numLayers: 1, numUnits: 2, inputSize: 3 }))
const blank = () => unpackCanonical(layout, new Float32Array(layout.size))
describe('packCanonical and unpackCanonical', () => {
  it.each([
    ['float32', (length: number) => new Float32Array(length)],
    ['float64', (length: number) => new Float64Array(length)],
  ] as const)('undo each other in %s for every kind of network', (_, create) => {
    fc.assert(
      fc.property(descriptors({ everyInputAndBiasMode: true }), (descriptor) => {
        const flat = flatLayout(descriptor)
        const canonical = canonicalFilled(descriptor, create as (length: number) => Float32Array)
        const packed = packCanonical(flat, canonical, create(flat.size) as Float32Array)
        // Regions are in order without gaps, so the counted elements come out as 1, 2, 3, …
        expect(Array.from(packed)).toEqual(Array.from({ length: flat.size }, (_, index) => index + 1))
        expect(unpackCanonical(flat, packed)).toEqual(canonical)
      }),
      RUNS,
    )
  })

  it('unpackCanonical copies: later changes of the buffer do not show', () => {
    const flat = new Float32Array(layout.size)
    const canonical = unpackCanonical(layout, flat)
    flat.fill(1)
    expect(canonical.weights[0].data[0]).toBe(0)
  })

  it('packCanonical takes the 1-D and transposed labels of TensorFlow up to 1.3, as only element counts matter', () => {
    const canonical = blank()
    const [first, second] = canonical.weights
    const labeled = {
      ...canonical,
      weights: [
        { data: first.data, shape: [6] },
        { data: second.data, shape: [2, 2] },
      ],
    }
    expect(() => packCanonical(layout, labeled, new Float32Array(layout.size))).not.toThrow()
  })

  it('packCanonical refuses a wrong number of tensors and absent lists', () => {
    const flat = new Float32Array(layout.size)
    const message = expect.stringMatching(/has \d+ weights in layers 0\.\.0, directions 0\.\.0: current number is 0/)
    const none = { ...blank(), weights: [] }
    expect(() => packCanonical(layout, none, flat)).toThrow(coded('ERR_CANONICAL_COUNT', { message }))
    expect(() => packCanonical(layout, undefined as never, flat)).toThrow(coded('ERR_CANONICAL_COUNT'))
  })

  it('packCanonical refuses a wrong element count, a wrong element type and a missing tensor, and writes nothing', () => {
    const flat = new Float32Array(layout.size).fill(9)
    const canonical = blank()
    const withLastBias = (tensor: unknown) =>
      ({ ...canonical, biases: [canonical.biases[0], tensor] }) as typeof canonical
    const tooLong = { data: new Float32Array(3), shape: [3] }
    const double = { data: new Float64Array(2), shape: [2] }
    expect(() => packCanonical(layout, withLastBias(tooLong), flat)).toThrow(coded('ERR_CANONICAL_SIZE'))
    expect(() => packCanonical(layout, withLastBias(double), flat)).toThrow(coded('ERR_CANONICAL_DTYPE'))
    expect(() => packCanonical(layout, withLastBias(undefined), flat)).toThrow(coded('ERR_CANONICAL_DTYPE'))
    expect(flat.every((value) => value === 9)).toBe(true)
  })

  it('packCanonical and unpackCanonical refuse a buffer of another size', () => {
    const short = new Float32Array(layout.size - 1)
    expect(() => packCanonical(layout, blank(), short)).toThrow(coded('ERR_PARAMS_SIZE'))
    expect(() => unpackCanonical(layout, short)).toThrow(coded('ERR_PARAMS_SIZE'))
    expect(() => packCanonical(layout, countedCanonical as never, short)).toThrow(coded('ERR_PARAMS_SIZE'))
  })
})
