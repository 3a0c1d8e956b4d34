import type { FloatArray } from '@cudnn-rnn/canonical'

/** √(Σ x²) over all arrays, in double precision; above `maxNorm` they are scaled down to that. */
export function clipToNorm(arrays: readonly FloatArray[], maxNorm: number): number {
  let sum = 0
  for (const data of arrays) for (let k = 0; k < data.length; k++) sum += data[k] * data[k]
  const norm = Math.sqrt(sum)
  // A norm that is not finite leaves the arrays as they are, for the caller to see.
  if (norm > maxNorm && Number.isFinite(norm)) {
    const scale = maxNorm / norm
    for (const data of arrays) for (let k = 0; k < data.length; k++) data[k] *= scale
  }
  return norm
}
