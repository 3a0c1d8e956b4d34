import { checkIsObject, describeValue } from '@cudnn-rnn/arguments'
import { gatesOf } from './cell_mode.js'
import { codedTypeError } from './coded_error.js'
import type { RnnDescriptor } from './rnn_descriptor.js'

const ACTION = 'read the sizes of a network'

/** G, the gates of the cell: LSTM 4, GRU 3, plain RNN 1. */
export function numGates(descriptor: Pick<RnnDescriptor, 'cellMode'>): number {
  checkIsObject(ACTION, 'descriptor', descriptor)
  return gatesOf(descriptor.cellMode).length
}

/** D, the directions: 1 or 2. */
export function numDirections(descriptor: Pick<RnnDescriptor, 'direction'>): 1 | 2 {
  checkIsObject(ACTION, 'descriptor', descriptor)
  return descriptor.direction === 'bidirectional' ? 2 : 1
}

/** Columns of h and of one direction's output: P with a projection, else H. */
export function hiddenColumns(descriptor: Pick<RnnDescriptor, 'numProj' | 'numUnits'>): number {
  checkIsObject(ACTION, 'descriptor', descriptor)
  return descriptor.numProj ?? descriptor.numUnits
}

/** Columns of the output [T,B,·]: both directions side by side. */
export function outputSize(descriptor: RnnDescriptor): number {
  return hiddenColumns(descriptor) * numDirections(descriptor)
}

/** Size of one input vector of layer `layer`: I for layer 0, the output size of the layer below otherwise. */
export function layerInputSize(descriptor: RnnDescriptor, layer: number): number {
  checkIsObject(ACTION, 'descriptor', descriptor)
  return layer === 0 ? descriptor.inputSize : outputSize(descriptor)
}

/** Rows of the state tensors [L·D,B,·]; row layer·D + direction, forward before backward. */
export function numPseudoLayers(descriptor: Pick<RnnDescriptor, 'numLayers' | 'direction'>): number {
  checkIsObject(ACTION, 'descriptor', descriptor)
  const { numLayers } = descriptor
  if (typeof numLayers !== 'number') {
    throw codedTypeError(
      'ERR_INVALID_OPTION_TYPE',
      `Cannot ${ACTION} as numLayers must be a number: current value is ${describeValue(numLayers)}`,
    )
  }
  return numLayers * numDirections(descriptor)
}
