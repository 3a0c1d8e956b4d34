import type { NvidiaSampleOptions } from './nvidia_sample.js'

/** Precisions of a float32 executor whose products have fewer bits than its tensors. */
export type ReducedPrecision = 'tf32' | 'float16' | 'bfloat16'

/** Error over the largest magnitude: a TF32 product has ten bits of mantissa, float16 ten, bfloat16 seven. */
export const REDUCED_PRECISION_TOLERANCES = { tf32: 1e-2, float16: 1e-2, bfloat16: 6e-2 } as const

/**
 * How near to the sums of NVIDIA's sample, and in which cells. In float16 1/(512·512) is a subnormal number, and sums of
 * relu's products leave its range. The sample saturates a GRU's gates, and
 * its dx is a product of 1 - z and 1 - n²: if states and gates are rounded to bfloat16, it is 9.2% too large in exact
 * arithmetic as well.
 */
export const REDUCED_PRECISION_SAMPLES: Readonly<Record<ReducedPrecision, NvidiaSampleOptions>> = {
  tf32: { tolerance: 1e-3 },
  float16: { cellModes: ['rnn_tanh', 'lstm', 'gru'], tolerance: 3e-2 },
  bfloat16: { cellModes: ['rnn_tanh', 'lstm'], tolerance: 3e-2 },
}
