import { integerFrom, type OptionsOf, oneOf, optional } from '@cudnn-rnn/canonical/rules'
import type { LayerDefinition } from '../layer.js'
import { checkLayerOptions, LAYER_OPTIONS, type LayerOptions, SEQUENCE } from '../layer_options.js'
import { planned } from '../planned_layer.js'
import {
  channelsOf,
  EXTENT,
  gathered,
  isOfOneStep,
  outputHeight,
  type Padding,
  type WindowSizes,
  windowLengths,
  windowsUnder,
} from './windows.js'

const PADDED = ['valid', 'same'] as const satisfies readonly Padding[]

const PADDING = optional(oneOf(PADDED))

const OPTIONS_1D = {
  ...LAYER_OPTIONS,
  /** Default 2. */
  poolSize: optional(integerFrom(1)),
  /** Default: the pool size. */
  strides: optional(integerFrom(1)),
  /** `valid` (the default) drops steps that fill no window, `same` takes windows that reach over the ends. */
  padding: PADDING,
}

interface MaxPool1DOptions extends LayerOptions, OptionsOf<typeof OPTIONS_1D> {}

const OPTIONS_2D = {
  ...LAYER_OPTIONS,
  /** Rows of the picture of which each step is a column, as in `conv2d`. */
  height: integerFrom(1),
  /** Default [2, 2]. */
  poolSize: optional(EXTENT),
  /** Default: the pool size. */
  strides: optional(EXTENT),
  /** Default `valid`. */
  padding: PADDING,
}

interface MaxPool2DOptions extends LayerOptions, OptionsOf<typeof OPTIONS_2D> {}

/**
 * The maximum of each column over windows of time: [T,B,E] to [T',B,E]. Sequence lengths become the output's.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { maxPool1d, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [maxPool1d({ poolSize: 2 })], { inputSize: 1 })
 * const { data, shape } = await model.predict({ data: Float32Array.of(1, 4, 3, 2), shape: [4, 1, 1] }) // [T,B,E]
 * console.log(data, shape) // [4, 3] [2, 1, 1]
 * ```
 */
export function maxPool1d(options: MaxPool1DOptions = {}): LayerDefinition {
  const kind = 'maxPool1d'
  const given = checkLayerOptions(kind, options, OPTIONS_1D)
  const { poolSize = 2, strides = poolSize, padding = 'valid' } = given
  const sizes = {
    height: 1,
    size: [poolSize, 1] as const,
    strides: [strides, 1] as const,
    padding,
  }
  return maxPooling(kind, 'max_pooling1d', given.name, sizes, { poolSize, strides, padding })
}

/**
 * The maximum of each channel over windows of a picture that arrives column by column: [T,B,height·C] to [T',B,height'·C].
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { maxPool2d, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [maxPool2d({ height: 8, poolSize: [2, 4] })], { inputSize: 8 })
 * const { shape } = await model.predict({ data: new Float32Array(20 * 8), shape: [20, 1, 8] }) // [T,B,height·C]
 * console.log(shape) // [10, 1, 2]
 * ```
 */
export function maxPool2d(options: MaxPool2DOptions): LayerDefinition {
  const kind = 'maxPool2d'
  const given = checkLayerOptions(kind, options, OPTIONS_2D)
  const { height, poolSize = [2, 2], strides = poolSize, padding = 'valid' } = given
  const sizes = { height, size: poolSize, strides, padding }
  return maxPooling(kind, 'max_pooling2d', given.name, sizes, { height, poolSize, strides, padding })
}

/** A window is a sequence of its places, of which `poolSequence` takes the maximum. */
function maxPooling(
  kind: string,
  base: string,
  name: string | undefined,
  sizes: WindowSizes,
  config: LayerDefinition['config'],
): LayerDefinition {
  const row = { kind, base, name, takes: SEQUENCE, config }
  return planned(row, (input, own) => {
    const channels = channelsOf(row, input, sizes)
    return {
      output: { isSequence: true, features: outputHeight(sizes) * channels },
      outputLengths: (lengths) => windowLengths(sizes, lengths),
      isStepwise: isOfOneStep(sizes),
      forward(t, x, _, { lengths }) {
        const windows = windowsUnder(`${own} (${kind})`, x.shape, lengths, sizes, 'inside', 'taps first')
        const { time, height } = windows
        const [, batch] = x.shape
        const rows = gathered(t, x, windows, channels, [sizes.size[0] * sizes.size[1], time * batch * height])
        return t.reshape(t.poolSequence(rows, null, { pooling: 'max' }), [time, batch, height * channels])
      },
    }
  })
}
