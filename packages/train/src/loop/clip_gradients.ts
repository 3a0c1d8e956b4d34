import type { Backend, BackendTensor } from '@cudnn-rnn/backend'

export interface ClippingOptions {
  /** Every element of the gradients is clamped to ± this; default never. */
  readonly clipValue?: number | undefined
  /** Gradients are scaled down to this global norm; default never. */
  readonly clipNorm?: number | undefined
}

/** Clips in place, by value before by norm; returns the global norm before. */
export async function clipGradients(
  { ops }: Backend,
  gradients: readonly BackendTensor[],
  { clipNorm, clipValue }: ClippingOptions,
): Promise<number> {
  if (clipValue === undefined && clipNorm !== undefined) {
    using norm = ops.clipByGlobalNorm(gradients, clipNorm)
    return (await norm.read()).data[0]!
  }
  using norm = ops.globalNorm(gradients)
  if (clipValue !== undefined) {
    ops.clipByValue(gradients, clipValue)
    if (clipNorm !== undefined) ops.clipByGlobalNorm(gradients, clipNorm).dispose()
  }
  return (await norm.read()).data[0]!
}
