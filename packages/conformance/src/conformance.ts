import type { Backend, FloatDType } from '@cudnn-rnn/ops'
import { describe } from 'vitest'
import { registerCallerConformance } from './caller_conformance.js'
import { registerCtcConformance } from './ctc_conformance.js'
import { registerDenseConformance } from './dense_conformance.js'
import { registerDropoutConformance } from './dropout_conformance.js'
import type { Extent } from './extent.js'
import { registerFixtureConformance } from './fixture_conformance.js'
import { registerGoldenConformance } from './golden_conformance.js'
import { registerLayerConformance } from './layer_conformance.js'
import { registerNonFiniteConformance } from './non_finite_conformance.js'
import { registerNumericalConformance } from './numerical_conformance.js'
import { registerOperationConformance } from './operation_conformance.js'
import { registerOptimizerConformance } from './optimizer_conformance.js'
import { registerPassConformance } from './pass_conformance.js'
import { registerProductConformance } from './product_conformance.js'
import { registerRefusalConformance } from './refusal_conformance.js'
import type { RoundingOracle } from './rounding_oracle.js'
import { registerStreamingConformance } from './streaming_conformance.js'
import { registerTensorConformance } from './tensor_conformance.js'
import { registerTensorGradientConformance } from './tensor_gradient_conformance.js'

export interface ConformanceOptions {
  readonly dtypes: readonly FloatDType[]
  /** Error divided by the larger of 1 and the expected tensor's largest magnitude. */
  readonly tolerances: Readonly<Record<FloatDType, number>>
  readonly roundingOracle?: RoundingOracle | undefined
  /**
   * Default `all`. `covering` is for executors that share all but kernels or libraries with one that runs everything: each
   * pair of a network's attributes occurs, argument errors and long optimizations are left out.
   */
  readonly extent?: Extent | undefined
}

/** Parts that depend on the arithmetic or on the libraries of an executor. */
const NUMERICAL_PARTS = [
  registerFixtureConformance,
  registerGoldenConformance,
  registerNumericalConformance,
  registerNonFiniteConformance,
  registerPassConformance,
  registerDropoutConformance,
  registerStreamingConformance,
  registerDenseConformance,
  registerCtcConformance,
  registerProductConformance,
  registerOptimizerConformance,
  registerLayerConformance,
  registerTensorConformance,
  registerTensorGradientConformance,
]

/** Parts that test argument checks, which executors share; `covering` leaves them out. */
const ARGUMENT_PARTS = [registerRefusalConformance, registerOperationConformance, registerCallerConformance]

/** Registers the tests that every executor must pass, for each of its dtypes. */
export function runConformance(
  name: string,
  open: (options: { readonly dtype: FloatDType }) => Backend | Promise<Backend>,
  { dtypes, tolerances, roundingOracle, extent = 'all' }: ConformanceOptions,
): void {
  for (const dtype of dtypes) {
    describe(`${name} ${dtype}`, () => {
      const tolerance = tolerances[dtype]
      const parts = extent === 'all' ? [...NUMERICAL_PARTS, ...ARGUMENT_PARTS] : NUMERICAL_PARTS
      for (const register of parts) {
        register({ open: async () => open({ dtype }), dtype, tolerance, roundingOracle, extent })
      }
    })
  }
}
