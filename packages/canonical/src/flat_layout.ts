import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { outputSize } from './dimensions.js'
import { type ParamRegion, paramRegions } from './param_regions.js'
import { checkDescriptor, type RnnDescriptor } from './rnn_descriptor.js'

/** A region and where it begins in an opaque buffer, in elements. */
export interface PlacedRegion extends ParamRegion {
  readonly offset: number
}

/** The place of every canonical tensor in a flat buffer of `size` elements. */
export interface ParamLayout {
  readonly weights: readonly PlacedRegion[]
  readonly biases: readonly PlacedRegion[]
  /** Elements of the whole buffer. */
  readonly size: number
}

/** cuDNN computes the size of the weight space in 32 bits: from here on it answers with garbage and status 0. */
const MAX_MATRIX_ELEMENTS = 2 ** 31

/**
 * The closed-form flat layout, which is cuDNN's own: all matrices in canonical order, then all biases, no padding.
 *
 * Measured equal to `cudnnGetRNNWeightParams` of cuDNN 9.24 on 81,240 configurations (docs/canonical_layout.md).
 *
 * @throws RangeError `ERR_PARAMS_TOO_LARGE` from 2^31 matrix elements on, and above 2^16 pseudo-layers
 * @example
 * ```ts
 * import { createRnnDescriptor, flatLayout } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'rnn_tanh', numLayers: 1, numUnits: 4, inputSize: 3 })
 * const { weights, biases, size } = flatLayout(descriptor)
 * console.log(weights.map(({ offset }) => offset)) // [0, 12]
 * console.log(biases.map(({ offset }) => offset), size) // [28, 32] 36
 * ```
 */
export function flatLayout(descriptor: RnnDescriptor): ParamLayout {
  checkDescriptor(descriptor)
  checkParamsSize(descriptor)
  const regions = paramRegions(descriptor)
  let offset = 0
  const place = (region: ParamRegion): PlacedRegion => {
    const placed = { ...region, offset }
    offset += region.size
    return placed
  }
  const weights = regions.weights.map(place)
  const biases = regions.biases.map(place)
  return { weights, biases, size: offset }
}

/** Throws RangeError `ERR_PARAMS_TOO_LARGE`. Offsets of larger networks need not be exact numbers. */
export function checkParamsSize(descriptor: RnnDescriptor): void {
  const matrixElements = countMatrixElements(descriptor)
  if (matrixElements < MAX_MATRIX_ELEMENTS) return
  throw codedRangeError(
    'ERR_PARAMS_TOO_LARGE',
    `Cannot lay out parameters as the matrices must have fewer than 2^31 elements (cuDNN's limit): current value is ${matrixElements}`,
    { matrixElements },
  )
}

/** Elements of all matrices, counted without listing them: a refused network may have billions of regions. */
function countMatrixElements(descriptor: RnnDescriptor): number {
  // Every layer above the first has the same shapes, and no skip_input.
  const upper = { ...descriptor, numLayers: 1, inputMode: 'linear_input', inputSize: outputSize(descriptor) } as const
  return matrixElementsOf({ ...descriptor, numLayers: 1 }) + (descriptor.numLayers - 1) * matrixElementsOf(upper)
}

function matrixElementsOf(descriptor: RnnDescriptor): number {
  return paramRegions(descriptor).weights.reduce((sum, { size }) => sum + size, 0)
}
