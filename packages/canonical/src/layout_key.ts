import { checkDescriptor, type RnnDescriptor } from './rnn_descriptor.js'

/** The keys of frozen descriptors: every pass of a network compares its key. */
const keys = new WeakMap<RnnDescriptor, string>()

/**
 * A string equal for two descriptors exactly when their parameters have the same regions: the tag by which an executor
 * distinguishes opaque buffers of equal length that belong to different networks. Dropout, seed and clip do not matter.
 *
 * @example
 * ```ts
 * import { createRnnDescriptor, layoutKey } from '@cudnn-rnn/rnn/canonical'
 *
 * const options = { cellMode: 'gru', numLayers: 1, numUnits: 4, inputSize: 3 } as const
 * const key = layoutKey(createRnnDescriptor(options))
 * console.log(key === layoutKey(createRnnDescriptor({ ...options, dropout: 0.5 }))) // true
 * console.log(key === layoutKey(createRnnDescriptor({ ...options, inputSize: 5 }))) // false
 * ```
 */
export function layoutKey(descriptor: RnnDescriptor): string {
  const kept = keys.get(descriptor)
  if (kept !== undefined) return kept
  checkDescriptor(descriptor)
  const { cellMode, numLayers, numUnits, inputSize, inputMode, direction, numProj, biasMode } = descriptor
  const key = [
    cellMode,
    `L${numLayers}`,
    `H${numUnits}`,
    `I${inputSize}`,
    `P${numProj ?? '-'}`,
    inputMode,
    direction,
    biasMode,
  ].join(' ')
  if (Object.isFrozen(descriptor)) keys.set(descriptor, key)
  return key
}
