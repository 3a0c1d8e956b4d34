import { type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import type { Backend, BackendTensor } from '@cudnn-rnn/ops'
import { hyperparameter } from '@cudnn-rnn/ops/executor'

export const CLIPPING_OPTIONS = {
  /** Every element of the gradients is clamped to ± this; default never. */
  clipValue: optional(hyperparameter({ minimum: 0 })),
  /** Gradients are scaled down to this global norm; default never. */
  clipNorm: optional(hyperparameter({ minimum: 0 })),
}

/** How the gradients of a step are clipped. */
export interface ClippingOptions extends OptionsOf<typeof CLIPPING_OPTIONS> {}

/** Clips in place, by value before by norm; returns the global norm before, a scalar, for the caller to dispose. */
export function clipGradients(
  { ops }: Backend,
  gradients: readonly BackendTensor[],
  { clipNorm, clipValue }: ClippingOptions,
): BackendTensor {
  if (clipValue === undefined && clipNorm !== undefined) return ops.clipByGlobalNorm(gradients, clipNorm)
  const norm = ops.globalNorm(gradients)
  try {
    if (clipValue !== undefined) {
      ops.clipByValue(gradients, clipValue)
      if (clipNorm !== undefined) ops.clipByGlobalNorm(gradients, clipNorm).dispose()
    }
  } catch (error) {
    norm.dispose()
    throw error
  }
  return norm
}
