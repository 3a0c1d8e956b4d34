/**
 * The conformance suite that every executor runs: fixtures of PyTorch and TensorFlow, numerical differentiation, and
 * invariants of passes, tapes, dropout, streams, dense operations and argument errors.
 *
 * @example
 * ```ts no-run
 * import { runConformance } from '@cudnn-rnn/conformance'
 * import { openReferenceBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const tolerances = { float32: 2e-6, float64: 1e-12 }
 * runConformance('reference', openReferenceBackend, { dtypes: ['float32', 'float64'], tolerances })
 * ```
 * @packageDocumentation
 */
export { expectAllclose } from './closeness.js'
export { type ConformanceOptions, runConformance } from './conformance.js'
export { decoded, type ElementType, encoded } from './element_bytes.js'
export type { Extent } from './extent.js'
export { filled, filledCanonical } from './fills.js'
export { registerIntegerProductsConformance } from './integer_products_conformance.js'
export { type NvidiaSampleOptions, runNvidiaSample } from './nvidia_sample.js'
export { wrongCalls } from './operation_calls.js'
export { expectOutcome } from './operation_conformance.js'
export { registerPassConformance } from './pass_conformance.js'
export { registerQuantizedWeightsConformance } from './quantized_weights_conformance.js'
export { type RaggedReplica, raggedReplica } from './ragged_replica.js'
export { REDUCED_PRECISION_SAMPLES, REDUCED_PRECISION_TOLERANCES, type ReducedPrecision } from './reduced_precision.js'
export type { NetworkMaker, RoundingOracle } from './rounding_oracle.js'
export { readAll } from './small_network.js'
export { type TrainingResult, trainingForward } from './training_forward.js'
