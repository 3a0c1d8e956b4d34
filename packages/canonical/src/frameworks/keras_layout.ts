import {
  checkIsObject,
  checkOptionValues,
  codedRangeError,
  FLAG,
  type OptionsOf,
  oneOf,
  optional,
} from '@cudnn-rnn/canonical/rules'
import { layerInputSize, numDirections, numGates } from '../dimensions.js'
import type { GateRegion } from '../param_regions.js'
import { checkDescriptor, type RnnDescriptor } from '../rnn_descriptor.js'
import type { CanonicalParams, FloatArray } from '../tensor.js'
import { type FrameworkLayout, frameworkLayout, rowsAt, transposedAt } from './framework_layout.js'
import {
  canonicalToFramework,
  frameworkToCanonical,
  type NamedTensors,
  refuseResetBefore,
} from './framework_tensors.js'
import { gatePosition } from './gate_order.js'

const OPTIONS = {
  /** Default `plain`. */
  variant: optional(oneOf(['plain', 'cudnn'])),
}
const CONVERSION_OPTIONS = {
  ...OPTIONS,
  /** GRU: the layer's `reset_after`. Default true; a bias [3H] gives away a false one. */
  resetAfter: optional(FLAG),
}

/** How a Keras layer stores its weights. */
interface KerasOptions extends OptionsOf<typeof OPTIONS> {}

/** Options of {@link kerasToCanonical}. */
interface KerasConversionOptions extends OptionsOf<typeof CONVERSION_OPTIONS> {}

/** `plain`: `LSTM`, `GRU`, `SimpleRNN`; `cudnn`: the `CuDNNLSTM` and `CuDNNGRU` of Keras 2. */
export type KerasVariant = NonNullable<KerasOptions['variant']>

/**
 * The weights of Keras layers, one record per pseudo-layer (`Bidirectional` holds two): `kernel` [in,G·H],
 * `recurrent_kernel` [H,G·H] and `bias`. Gates i,f,c,o and z,r,h.
 *
 * - plain: each gate's columns are the canonical matrix transposed. LSTM and SimpleRNN have one `bias` [G·H], the sum of
 *   the canonical two; GRU (`reset_after=True`) keeps both in [2,3H], input side first.
 * - cudnn: each gate's [in,H] columns hold the elements of the canonical [H,in] in the same order, not transposed; the
 *   `bias` [2·G·H] holds both, input side first.
 *
 * Source: Keras 2.2 `saving.py`, `_convert_rnn_weights`.
 *
 * @throws RangeError `ERR_UNSUPPORTED_BY_FRAMEWORK`, `ERR_INVALID_OPTION`; TypeError `ERR_INVALID_OPTION_TYPE`
 */
export function kerasLayout(descriptor: RnnDescriptor, options: KerasOptions = {}): FrameworkLayout {
  checkDescriptor(descriptor)
  checkIsObject('lay out Keras weights', 'options', options)
  checkOptionValues('lay out Keras weights', options, OPTIONS)
  const { variant = 'plain' } = options
  const { cellMode, numUnits: H } = descriptor
  const width = numGates(descriptor) * H
  const isCudnn = variant === 'cudnn'
  if (isCudnn && cellMode !== 'lstm' && cellMode !== 'gru') {
    throw codedRangeError(
      'ERR_UNSUPPORTED_BY_FRAMEWORK',
      `Cannot convert parameters between canonical and keras as its cudnn variants are CuDNNLSTM and CuDNNGRU: current cellMode is ${cellMode}`,
      { framework: 'keras', option: 'cellMode', value: cellMode },
    )
  }
  const separateBiases = isCudnn || cellMode === 'gru'
  const biasShape = separateBiases ? (isCudnn ? [2 * width] : [2, width]) : [width]

  const shapes = (pseudoLayer: number) => ({
    kernel: [layerInputSize(descriptor, Math.floor(pseudoLayer / numDirections(descriptor))), width],
    recurrent_kernel: [H, width],
    bias: biasShape,
  })
  const place = (region: GateRegion) => {
    const column = H * gatePosition('keras', cellMode, region.gate)
    if (region.kind === 'bias') {
      return rowsAt('bias', column + (separateBiases && region.side === 'recurrent' ? width : 0), region)
    }
    const tensor = region.side === 'input' ? 'kernel' : 'recurrent_kernel'
    if (!isCudnn) return transposedAt(tensor, column, width, region)
    return { tensor, offset: column, rows: region.size / H, columns: H, rowStride: width, columnStride: 1 }
  }
  return frameworkLayout(descriptor, { framework: 'keras', pseudoLayersPerGroup: 1, shapes, place })
}

/**
 * Canonical parameters as the weights of Keras layers ({@link kerasLayout}).
 *
 * @example
 * ```ts
 * import { canonicalToKeras, createRnnDescriptor, flatLayout, unpackCanonical } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 4, inputSize: 3 })
 * const layout = flatLayout(descriptor)
 * const canonical = unpackCanonical(layout, new Float32Array(layout.size))
 * const [layer] = canonicalToKeras(descriptor, canonical)
 * console.log(layer?.kernel?.shape, layer?.recurrent_kernel?.shape, layer?.bias?.shape) // [3, 16] [4, 16] [16]
 * ```
 */
export function canonicalToKeras<Data extends FloatArray>(
  descriptor: RnnDescriptor,
  canonical: CanonicalParams<Data>,
  options: KerasOptions = {},
): NamedTensors<Data>[] {
  return canonicalToFramework(descriptor, kerasLayout(descriptor, options), canonical)
}

/**
 * Canonical parameters from the weights of Keras layers; each canonical bias gets half of a summed one.
 *
 * @param options `resetAfter` is the GRU layer's `reset_after` (default true); a bias [3H] gives away a false one.
 * @throws as `kerasLayout` and `frameworkToCanonical`; RangeError `ERR_GRU_RESET_BEFORE`
 * @example
 * ```ts
 * import { createRnnDescriptor, kerasToCanonical } from '@cudnn-rnn/rnn/canonical'
 *
 * const size = { numLayers: 1, numUnits: 1, inputSize: 1 }
 * const descriptor = createRnnDescriptor({ cellMode: 'rnn_tanh', inputMode: 'linear_input', ...size })
 * const kernel = { data: Float32Array.of(2), shape: [1, 1] }
 * const recurrent_kernel = { data: Float32Array.of(5), shape: [1, 1] }
 * const bias = { data: Float32Array.of(6), shape: [1] }
 * const { biases } = kerasToCanonical(descriptor, [{ kernel, recurrent_kernel, bias }])
 * console.log(biases[0]?.data, biases[1]?.data) // [3] [3]
 * ```
 */
export function kerasToCanonical<Data extends FloatArray>(
  descriptor: RnnDescriptor,
  layers: readonly NamedTensors<Data>[],
  given: KerasConversionOptions = {},
): CanonicalParams<Data> {
  checkDescriptor(descriptor)
  checkIsObject('convert Keras weights', 'options', given)
  checkOptionValues('convert Keras weights', given, CONVERSION_OPTIONS)
  checkIsObject('convert Keras weights', 'layers', layers)
  const { resetAfter = true, ...options } = given
  const layout = kerasLayout(descriptor, options)
  if (descriptor.cellMode === 'gru') {
    if (!resetAfter) refuseResetBefore('keras', 'reset_after must be true', resetAfter)
    for (const layer of options.variant === 'cudnn' || !Array.isArray(layers) ? [] : layers) {
      const bias = layer?.bias
      if (Array.isArray(bias?.shape) && bias.shape.length === 1)
        refuseResetBefore('keras', 'a reset_after bias is [2,3H]', `bias [${bias.shape}]`)
    }
  }
  return frameworkToCanonical(descriptor, layout, layers)
}
