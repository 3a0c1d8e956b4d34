import type { Tensor } from '@cudnn-rnn/canonical'
import type { Implementation } from './implementation_table.js'
import { parameterLayout, ungrouped } from './parameter_layouts.js'
import type { TensorRecord } from './tensor_file.js'
import { type Workload, workloadDescriptor } from './workload.js'

/**
 * Beyond this two implementations did not compute the same function. Float32 sums of 4,000 products in another order differ by
 * some 1e-6 of the largest value; a swapped gate or a forgotten bias by more than 1e-2.
 */
export const LARGEST_DIFFERENCE = 1e-4

/** Results of an implementation in an order that is the same for all. */
export type ComparableResults = readonly (readonly [name: string, data: Tensor<Float32Array>['data']])[]

/**
 * Brings results to canonical layout: the output and, if they are there, the gradients with respect to input and
 * parameters.
 */
export function comparableResults(
  implementation: Implementation,
  workload: Workload,
  results: TensorRecord,
): ComparableResults {
  const named: [string, Float32Array][] = []
  for (const name of ['output', 'inputGradient']) {
    const tensor = results[name]
    if (tensor !== undefined) named.push([name, tensor.data])
  }
  const groups = ungrouped(results)
  const { toCanonical } = parameterLayout(implementation.layout)
  if (groups.length > 0 && toCanonical !== undefined) {
    const { weights, biases } = toCanonical(workloadDescriptor(workload), groups)
    for (const [k, { data }] of weights.entries()) named.push([`gradient of weight ${k}`, data])
    for (const [k, { data }] of biases.entries()) named.push([`gradient of bias ${k}`, data])
  }
  return named
}

/**
 * The largest absolute difference between two implementations' results, each tensor measured in units of its largest value
 * if that is above 1 (gradients with respect to weights are sums over the batch). Infinity for results of other
 * shapes or NaN.
 */
export function largestDifference(ours: ComparableResults, theirs: ComparableResults): number {
  if (ours.length !== theirs.length) return Number.POSITIVE_INFINITY
  let largest = 0
  for (const [index, [, a]] of ours.entries()) {
    const b = theirs[index][1]
    if (a.length !== b.length) return Number.POSITIVE_INFINITY
    let difference = 0
    let scale = 1
    for (let i = 0; i < a.length; i++) {
      const apart = Math.abs(a[i] - b[i])
      if (Number.isNaN(apart)) return Number.POSITIVE_INFINITY
      if (apart > difference) difference = apart
      if (Math.abs(a[i]) > scale) scale = Math.abs(a[i])
    }
    largest = Math.max(largest, difference / scale)
  }
  return largest
}
