import type { Backend, BackendTensor } from '@cudnn-rnn/backend'

export interface ClippingOptions {
  /** Every element of the gradients is clamped to ± this; default never. */
  readonly clipValue?: number | undefined
  /** Gradients are scaled down to this global norm; default never. */
  readonly clipNorm?: number | undefined
}

/** Clips in place, by value before by norm; returns the global norm before, a scalar, for the caller to dispose. */
export function clipGradients(
  { ops }: Backend,
  gradients: readonly BackendTensor[],
  { clipNorm, clipValue }: ClippingOptions,
): BackendTensor {
  if (clipValue === undefined && clipNorm !== undefined) return ops.clipByGlobalNorm(gradients, clipNorm)
  const norm = ops.globalNorm(gradients)
  if (clipValue !== undefined) {
    ops.clipByValue(gradients, clipValue)
    if (clipNorm !== undefined) ops.clipByGlobalNorm(gradients, clipNorm).dispose()
  }
  return norm
}
