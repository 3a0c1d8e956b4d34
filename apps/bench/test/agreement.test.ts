import { describe, expect, it } from 'vitest'
import { comparableResults, LARGEST_DIFFERENCE, largestDifference } from '../src/agreement.js'
import { BASELINES, executorImplementation } from '../src/implementation_table.js'
import { makeOperands } from '../src/operands.js'
import { grouped, parameterLayout } from '../src/parameter_layouts.js'
import { type Workload, workloadDescriptor } from '../src/workload.js'

const workload: Workload = {
  cellMode: 'lstm',
  numLayers: 1,
  bidirectional: false,
  batch: 1,
  time: 2,
  inputSize: 3,
  numUnits: 3,
}
const descriptor = workloadDescriptor(workload)
const { canonical, input } = makeOperands(workload, 1)
const results = (layout: 'canonical' | 'pytorch', parameters = canonical) => ({
  output: input,
  inputGradient: input,
  ...grouped(parameterLayout(layout).fromCanonical(descriptor, parameters)),
})
const ours = comparableResults(executorImplementation('cpu'), workload, results('canonical'))
const pytorch = BASELINES.find(({ name }) => name === 'pytorch')!

describe('comparableResults', () => {
  it('brings gradients of every layout to the same order', () => {
    expect(ours).toHaveLength(2 + 16)
    expect(comparableResults(pytorch, workload, results('pytorch'))).toEqual(ours)
  })
})

describe('largestDifference', () => {
  it('is zero for the same numbers', () => {
    expect(largestDifference(ours, ours)).toBe(0)
  })

  it('shows swapped gates, which would make a comparison of times meaningless', () => {
    const [first, second, ...rest] = canonical.weights
    const swapped = { ...canonical, weights: [second, first, ...rest] }
    const theirs = comparableResults(pytorch, workload, results('pytorch', swapped))
    expect(largestDifference(ours, theirs)).toBeGreaterThan(LARGEST_DIFFERENCE)
  })

  it('measures large values in units of the largest, small ones as they are', () => {
    const of = (...values: number[]) => [['x', Float32Array.from(values)] as const]
    expect(largestDifference(of(1000, 1), of(1000, 2))).toBeCloseTo(1e-3, 8)
    expect(largestDifference(of(0.25, 0.5), of(0.25, 0.625))).toBe(0.125)
  })

  it('takes NaN, other shapes and missing results for infinitely far', () => {
    const of = (...values: number[]) => [['x', Float32Array.from(values)] as const]
    expect(largestDifference(of(1), of(Number.NaN))).toBe(Number.POSITIVE_INFINITY)
    expect(largestDifference(of(1), of(1, 1))).toBe(Number.POSITIVE_INFINITY)
    expect(largestDifference(of(1), [])).toBe(Number.POSITIVE_INFINITY)
  })
})
