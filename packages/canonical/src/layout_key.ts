import { checkDescriptor, type RnnDescriptor } from './rnn_descriptor.js'

/**
 * A string equal for two descriptors exactly when their parameters have the same regions: the tag by which an executor
 * distinguishes opaque buffers of equal length that belong to different networks. Dropout, seed and clip do not matter.
 */
export function layoutKey(descriptor: RnnDescriptor): string {
  checkDescriptor(descriptor)
  const { cellMode, numLayers, numUnits, inputSize, inputMode, direction, numProj, biasMode } = descriptor
  return [
    cellMode,
    `L${numLayers}`,
    `H${numUnits}`,
    `I${inputSize}`,
    `P${numProj ?? '-'}`,
    inputMode,
    direction,
    biasMode,
  ].join(' ')
}
