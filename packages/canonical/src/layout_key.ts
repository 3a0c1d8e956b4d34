import type { RnnDescriptor } from './rnn_descriptor.js'

/**
 * A string equal for two descriptors exactly when their parameters have the same regions: the tag by which an executor
 * tells the opaque buffer of one network from another's of equal length. Dropout, seed and clip do not matter.
 */
export function layoutKey(descriptor: RnnDescriptor): string {
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
