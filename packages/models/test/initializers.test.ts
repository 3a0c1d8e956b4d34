import { createRnnDescriptor, paramRegions, type RnnOptions } from '@cudnn-rnn/canonical'
import { Philox } from '@cudnn-rnn/ops/executor'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { type InitializerOptions, initialCanonical } from '../src/initializers.js'

const SIZES: RnnOptions = { cellMode: 'lstm', numLayers: 1, numUnits: 5, inputSize: 3, inputMode: 'linear_input' }
const regions = paramRegions(createRnnDescriptor(SIZES))
const initial = (options: InitializerOptions = {}) =>
  initialCanonical(regions, options, (length) => new Float64Array(length))

describe('initialCanonical', () => {
  it('draws weights of each tensor within the limit of Glorot and Bengio, and biases of 0', () => {
    const { weights, biases } = initial()
    for (const [index, { data, shape }] of weights.entries()) {
      expect(shape).toEqual(regions.weights[index]?.shape)
      const limit = Math.sqrt(6 / ((shape[0] ?? 0) + (shape[1] ?? 0)))
      const largest = Math.max(...Array.from(data, Math.abs))
      expect(largest).toBeLessThan(limit)
      expect(largest).toBeGreaterThan(0.5 * limit)
    }
    for (const { data } of biases) expect(new Set(data)).toEqual(new Set([0]))
  })

  it('has the variance of the uniform distribution', () => {
    const wide = paramRegions(createRnnDescriptor({ ...SIZES, numUnits: 60, inputSize: 60 }))
    const { weights } = initialCanonical(wide, { seed: 3 }, (length) => new Float64Array(length))
    const all = weights.flatMap(({ data }) => [...data])
    const variance = all.reduce((sum, value) => sum + value * value, 0) / all.length
    // limit²/3 with limit² = 6/120.
    expect(variance).toBeCloseTo(1 / 60, 3)
  })

  it('depends on the seed alone, which is 0 by default', () => {
    expect(initial()).toEqual(initial({ seed: 0 }))
    expect(initial({ seed: 1 })).not.toEqual(initial())
  })

  it('draws other numbers than the dropout masks of the same seed', () => {
    const [drawn] = initial({ kernelInitializer: (values, _, random) => void values.fill(random.uniform()) }).weights
    expect(drawn?.data[0]).not.toBe(new Philox(0).uniform())
    expect(drawn?.data[0]).toBe(new Philox(0, 1).uniform())
  })

  it.each([
    [3, 5],
    [5, 5],
    [6, 2],
  ])('orthogonal matrices [%i,%i] have orthonormal rows or columns', (numUnits, inputSize) => {
    const shapes = paramRegions(createRnnDescriptor({ ...SIZES, numUnits, inputSize }))
    const { weights } = initialCanonical(shapes, { kernelInitializer: 'orthogonal' }, (n) => new Float64Array(n))
    const [{ data, shape } = { data: new Float64Array(0), shape: [] }] = weights
    const [rows = 0, columns = 0] = shape
    const vectors =
      rows <= columns
        ? Array.from({ length: rows }, (_, r) => Array.from({ length: columns }, (_, c) => data[r * columns + c] ?? 0))
        : Array.from({ length: columns }, (_, c) => Array.from({ length: rows }, (_, r) => data[r * columns + c] ?? 0))
    for (const [a, first] of vectors.entries())
      for (const [b, second] of vectors.entries()) {
        const product = first.reduce((sum, value, k) => sum + value * (second[k] ?? 0), 0)
        expect(product).toBeCloseTo(a === b ? 1 : 0, 12)
      }
  })

  it('adds the forget bias to the input side alone', () => {
    const { biases } = initial({ biasInitializer: 0.5, forgetBias: 1 })
    for (const [index, { gate, side }] of regions.biases.entries()) {
      const expected = gate === 'forget' && side === 'input' ? 1.5 : 0.5
      expect(new Set(biases[index]?.data)).toEqual(new Set([expected]))
    }
  })

  it('fills with a constant, or by a function that sees the region', () => {
    const seen: unknown[] = []
    const { weights, biases } = initial({
      kernelInitializer: 2,
      biasInitializer: (_, region) => void seen.push(region),
    })
    expect(weights.every(({ data }) => data.every((value) => value === 2))).toBe(true)
    expect(seen).toEqual(regions.biases)
    expect(biases).toHaveLength(regions.biases.length)
  })

  it('skips the regions of a network without input matrices', () => {
    const descriptor = createRnnDescriptor({ ...SIZES, inputSize: 5, inputMode: 'skip_input' })
    const calls: number[] = []
    initialCanonical(
      paramRegions(descriptor),
      { kernelInitializer: (values) => void calls.push(values.length) },
      (length) => new Float32Array(length),
    )
    expect(calls).toEqual([25, 25, 25, 25])
  })

  it.each<[object, string]>([
    [
      { kernelInitializer: 'zeros' },
      'an initializer must be glorot_uniform, orthogonal, a finite number or a function: current value is "zeros"',
    ],
    [{ kernelInitializer: Number.NaN }, 'a finite number or a function: current value is NaN'],
    [{ biasInitializer: Number.NEGATIVE_INFINITY }, 'a finite number or a function: current value is -Infinity'],
    [{ seed: -1 }, 'seed must be an integer in 0..9007199254740991: current value is -1'],
  ])('refuses %o', (options, message) => {
    expect(() => initial(options as InitializerOptions)).toThrow(
      coded('ERR_INVALID_OPTION', { message: expect.stringContaining(message) }),
    )
  })
})
