import fc from 'fast-check'
import {
  type CanonicalParams,
  type CellMode,
  createRnnDescriptor,
  type FloatArray,
  paramRegions,
  type RnnDescriptor,
  type RnnOptions,
} from '../src/index.js'

/** The networks of every property: the same in each run, so that a failure is seen again. */
export const RUNS = { seed: 20261121, numRuns: 100 } as const

/** Random small networks; `cellModes` and the flags name the capabilities of the layout under test. */
export function descriptors({
  cellModes = ['lstm', 'gru', 'rnn_relu', 'rnn_tanh'] as readonly CellMode[],
  projection = true,
  everyInputAndBiasMode = false,
} = {}): fc.Arbitrary<RnnDescriptor> {
  const size = fc.integer({ min: 1, max: 5 })
  return fc
    .record({
      cellMode: fc.constantFrom(...cellModes),
      numLayers: fc.integer({ min: 1, max: 3 }),
      numUnits: size,
      inputSize: size,
      direction: fc.constantFrom('unidirectional', 'bidirectional'),
      inputMode: everyInputAndBiasMode ? fc.constantFrom('linear_input', 'auto_select') : fc.constant('linear_input'),
      biasMode: everyInputAndBiasMode
        ? fc.constantFrom('double', 'single_input', 'single_recurrent', 'none')
        : fc.constant('double'),
      numProj: projection ? fc.option(size, { nil: undefined }) : fc.constant(undefined),
    } as const)
    .map(({ numProj, ...options }) => {
      const isProjected = options.cellMode === 'lstm' && numProj !== undefined && numProj <= options.numUnits
      return createRnnDescriptor({ ...options, ...(isProjected && { numProj }) } as RnnOptions)
    })
}

/** Canonical tensors of `descriptor` with elements 1, 2, 3, … : any misplaced element shows. */
export function countedCanonical(descriptor: RnnDescriptor): CanonicalParams<Float64Array> {
  return canonicalFilled(descriptor, (length) => new Float64Array(length))
}

/** {@link countedCanonical} in the array type that `create` makes. */
export function canonicalFilled<Data extends FloatArray>(
  descriptor: RnnDescriptor,
  create: (length: number) => Data,
): CanonicalParams<Data> {
  const { weights, biases } = paramRegions(descriptor)
  let next = 0
  const fill = ({ shape, size }: { readonly shape: readonly number[]; readonly size: number }) => {
    const data = create(size)
    for (let index = 0; index < size; index++) data[index] = ++next
    return { data, shape }
  }
  return { weights: weights.map(fill), biases: biases.map(fill) }
}
