import { checkIsObject, codedTypeError, describeValue } from '@cudnn-rnn/canonical/rules'
import { gatesOf } from './cell_mode.js'
import type { RnnDescriptor } from './rnn_descriptor.js'

const ACTION = 'read the sizes of a network'

/**
 * G, the gates of the cell: LSTM 4, GRU 3, plain RNN 1.
 *
 * @example
 * ```ts
 * import { numGates } from '@cudnn-rnn/rnn/canonical'
 *
 * console.log(numGates({ cellMode: 'lstm' }), numGates({ cellMode: 'gru' }), numGates({ cellMode: 'rnn_tanh' }))
 * // 4 3 1
 * ```
 */
export function numGates(descriptor: Pick<RnnDescriptor, 'cellMode'>): number {
  checkIsObject(ACTION, 'descriptor', descriptor)
  return gatesOf(descriptor.cellMode).length
}

/**
 * D, the directions: 1 or 2.
 *
 * @example
 * ```ts
 * import { numDirections } from '@cudnn-rnn/rnn/canonical'
 *
 * console.log(numDirections({ direction: 'unidirectional' }), numDirections({ direction: 'bidirectional' })) // 1 2
 * ```
 */
export function numDirections(descriptor: Pick<RnnDescriptor, 'direction'>): 1 | 2 {
  checkIsObject(ACTION, 'descriptor', descriptor)
  return descriptor.direction === 'bidirectional' ? 2 : 1
}

/**
 * Columns of h and of one direction's output: P with a projection, else H.
 *
 * @example
 * ```ts
 * import { hiddenColumns } from '@cudnn-rnn/rnn/canonical'
 *
 * console.log(hiddenColumns({ numUnits: 8, numProj: undefined }), hiddenColumns({ numUnits: 8, numProj: 3 })) // 8 3
 * ```
 */
export function hiddenColumns(descriptor: Pick<RnnDescriptor, 'numProj' | 'numUnits'>): number {
  checkIsObject(ACTION, 'descriptor', descriptor)
  return descriptor.numProj ?? descriptor.numUnits
}

/**
 * Columns of the output [T,B,·]: both directions side by side.
 *
 * @example
 * ```ts
 * import { createRnnDescriptor, outputSize } from '@cudnn-rnn/rnn/canonical'
 *
 * const size = { numLayers: 2, numUnits: 8, inputSize: 3 }
 * console.log(outputSize(createRnnDescriptor({ cellMode: 'lstm', direction: 'bidirectional', ...size }))) // 16
 * ```
 */
export function outputSize(descriptor: RnnDescriptor): number {
  return hiddenColumns(descriptor) * numDirections(descriptor)
}

/**
 * Size of one input vector of layer `layer`: I for layer 0, the output size of the layer below otherwise.
 *
 * @example
 * ```ts
 * import { createRnnDescriptor, layerInputSize } from '@cudnn-rnn/rnn/canonical'
 *
 * const size = { numLayers: 2, numUnits: 8, inputSize: 3 }
 * const descriptor = createRnnDescriptor({ cellMode: 'lstm', direction: 'bidirectional', ...size })
 * console.log(layerInputSize(descriptor, 0), layerInputSize(descriptor, 1)) // 3 16
 * ```
 */
export function layerInputSize(descriptor: RnnDescriptor, layer: number): number {
  checkIsObject(ACTION, 'descriptor', descriptor)
  return layer === 0 ? descriptor.inputSize : outputSize(descriptor)
}

/**
 * Rows of the state tensors [L·D,B,·]; row layer·D + direction, forward before backward.
 *
 * @example
 * ```ts
 * import { numPseudoLayers } from '@cudnn-rnn/rnn/canonical'
 *
 * console.log(numPseudoLayers({ numLayers: 3, direction: 'bidirectional' })) // 6
 * ```
 */
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
