import type { Backend, FloatDType } from '@cudnn-rnn/backend'
import { describe } from 'vitest'
import { registerCallerConformance } from './caller_conformance.js'
import { registerDenseConformance } from './dense_conformance.js'
import { registerDropoutConformance } from './dropout_conformance.js'
import { registerFixtureConformance } from './fixture_conformance.js'
import { registerGoldenConformance } from './golden_conformance.js'
import { registerNonFiniteConformance } from './non_finite_conformance.js'
import { registerNumericalConformance } from './numerical_conformance.js'
import { registerOptimizerConformance } from './optimizer_conformance.js'
import { registerPassConformance } from './pass_conformance.js'
import { registerRefusalConformance } from './refusal_conformance.js'
import type { RoundingOracle } from './rounding_oracle.js'
import { registerStreamingConformance } from './streaming_conformance.js'

export interface ConformanceOptions {
  readonly dtypes: readonly FloatDType[]
  /** Error divided by the larger of 1 and the expected tensor's largest magnitude. */
  readonly tolerances: Readonly<Record<FloatDType, number>>
  readonly roundingOracle?: RoundingOracle | undefined
}

const PARTS = [
  registerFixtureConformance,
  registerGoldenConformance,
  registerNumericalConformance,
  registerNonFiniteConformance,
  registerPassConformance,
  registerDropoutConformance,
  registerStreamingConformance,
  registerRefusalConformance,
  registerCallerConformance,
  registerDenseConformance,
  registerOptimizerConformance,
]

/** Registers everything that every executor must pass, for each of its dtypes. */
export function runConformance(
  name: string,
  open: (options: { readonly dtype: FloatDType }) => Backend | Promise<Backend>,
  { dtypes, tolerances, roundingOracle }: ConformanceOptions,
): void {
  for (const dtype of dtypes) {
    describe(`${name} ${dtype}`, () => {
      const tolerance = tolerances[dtype]
      for (const register of PARTS) register({ open: async () => open({ dtype }), dtype, tolerance, roundingOracle })
    })
  }
}
