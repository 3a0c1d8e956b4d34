import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { either, integerFrom, invalidOption, NUMBER, type OptionsOf, oneOf, optional } from '@cudnn-rnn/canonical/rules'
import { type BackendTensor, DTYPES } from '@cudnn-rnn/ops'
import { ACTIVATIONS } from '@cudnn-rnn/ops/executor'
import { hostTensor } from '../forwarded.js'
import type { LayerDefinition } from '../layer.js'
import { INITIALIZER, type LayerInitializerFunction } from '../layer_build.js'
import { checkLayerOptions, LAYER_OPTIONS, type LayerOptions, SEQUENCE } from '../layer_options.js'
import { hostStream, type LayerStream, type StateForm } from '../layer_stream.js'
import { planned } from '../planned_layer.js'
import { activated } from './dense.js'
import {
  channelsOf,
  EXTENT,
  gathered,
  isOfOneStep,
  outputHeight,
  PADDINGS,
  type WindowSizes,
  windowLengths,
  windowsUnder,
} from './windows.js'

const SHARED_OPTIONS = {
  ...LAYER_OPTIONS,
  /** O, output channels. */
  filters: integerFrom(1),
  /** Default `linear`: none. */
  activation: optional(oneOf(['linear', ...ACTIVATIONS])),
  /** Default `glorot_uniform`. */
  kernelInitializer: INITIALIZER,
  /** Default 0. */
  biasInitializer: INITIALIZER,
}

type ConvolutionOptions = LayerOptions & OptionsOf<typeof SHARED_OPTIONS>

const OPTIONS_1D = {
  ...SHARED_OPTIONS,
  /** K, steps that a window has. */
  kernelSize: integerFrom(1),
  /** Default 1. */
  strides: optional(integerFrom(1)),
  /**
   * `valid` (the default) has no padding, `same` zeros on both sides, `causal` zeros before the first step; a number is that
   * of zeros on each side, as PyTorch counts them.
   */
  padding: optional(either(oneOf(PADDINGS), NUMBER)),
}

interface Conv1DOptions extends LayerOptions, OptionsOf<typeof OPTIONS_1D> {}

const OPTIONS_2D = {
  ...SHARED_OPTIONS,
  /** Rows of the picture of which each step is a column: a step has height·C numbers, the channels of a row side by side. */
  height: integerFrom(1),
  /** K, steps and rows that a window has. */
  kernelSize: EXTENT,
  /** Default [1, 1]. */
  strides: optional(EXTENT),
  /** Default `valid`. */
  padding: optional(oneOf(['valid', 'same'])),
}

interface Conv2DOptions extends LayerOptions, OptionsOf<typeof OPTIONS_2D> {}

/**
 * A convolution over time: [T,B,I] to [T',B,O], T' = T with `same` or `causal` and stride 1. Variables as TensorFlow's:
 * `kernel` [K,I,O], `bias` [O]. Sequence lengths become the output's. A `causal` one of stride 1 streams.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { conv1d, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const convolution = conv1d({ filters: 1, kernelSize: 2, padding: 'causal', kernelInitializer: 1 })
 * const model = sequential(backend, [convolution], { inputSize: 1 })
 * const { data } = await model.predict({ data: Float32Array.of(1, 2, 3, 4), shape: [4, 1, 1] }) // [T,B,I]
 * console.log(data) // [1, 3, 5, 7]
 * ```
 */
export function conv1d(options: Conv1DOptions): LayerDefinition {
  const kind = 'conv1d'
  const given = checkLayerOptions(kind, options, OPTIONS_1D)
  const { kernelSize, strides = 1, padding = 'valid' } = given
  if (typeof padding === 'number') checkZeros(kind, padding, kernelSize)
  const sizes = { height: 1, size: [kernelSize, 1], strides: [strides, 1], padding } as const
  const config = { kernelSize, strides, padding }
  return convolution(kind, given, sizes, config, ({ size: [taps] }, channels) => [taps, channels])
}

/**
 * A convolution over a picture that arrives column by column, such as a line of text or a spectrogram: [T,B,height·C] to
 * [T',B,height'·O]. Variables as TensorFlow's: `kernel` [time,height,C,O], `bias` [O]. Sequence lengths become the
 * output's.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { conv2d, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * // A picture of 8 rows and 1 channel, 20 columns long.
 * const model = sequential(backend, [conv2d({ filters: 4, height: 8, kernelSize: [3, 3] })], { inputSize: 8 })
 * const { shape } = await model.predict({ data: new Float32Array(20 * 8), shape: [20, 1, 8] }) // [T,B,height·C]
 * console.log(shape) // [18, 1, 24]
 * ```
 */
export function conv2d(options: Conv2DOptions): LayerDefinition {
  const kind = 'conv2d'
  const given = checkLayerOptions(kind, options, OPTIONS_2D)
  const { height, kernelSize, strides = [1, 1], padding = 'valid' } = given
  const sizes = { height, size: kernelSize, strides, padding }
  const config = { height, kernelSize, strides, padding }
  return convolution(kind, given, sizes, config, ({ size }, channels) => [...size, channels])
}

/** Padding of a whole window or more would make windows of zeros only. */
function checkZeros(kind: string, padding: number, kernelSize: number): void {
  if (Number.isSafeInteger(padding) && padding >= 0 && padding < kernelSize) return
  throw invalidOption(
    `make ${kind}`,
    'padding',
    `an integer in 0..kernelSize-1, or one of ${PADDINGS.join(', ')}`,
    padding,
  )
}

function convolution(
  kind: string,
  options: ConvolutionOptions,
  sizes: WindowSizes,
  config: LayerDefinition['config'],
  kernelShape: (sizes: WindowSizes, channels: number) => readonly number[],
): LayerDefinition {
  const { name, filters, activation = 'linear', biasInitializer = 0 } = options
  const { size, strides, padding } = sizes
  const row = { kind, base: kind, name, takes: SEQUENCE, config: { filters, ...config, activation } }
  const taps = size[0] * size[1]
  return planned(row, (input, own) => {
    const channels = channelsOf(row, input, sizes)
    const { kernelInitializer = 'glorot_uniform' } = options
    const initializer = kernelInitializer === 'glorot_uniform' ? glorot(taps, channels, filters) : kernelInitializer
    const features = outputHeight(sizes) * filters
    const isCausal = strides[0] === 1 && padding === 'causal'
    return {
      variables: {
        kernel: [[...kernelShape(sizes, channels), filters], initializer],
        bias: [[filters], biasInitializer],
      },
      output: { isSequence: true, features },
      outputLengths: (lengths) => windowLengths(sizes, lengths),
      isStepwise: isOfOneStep(sizes),
      forward(t, x, { kernel, bias }, { lengths, isStream }) {
        // The window of a stream begins with the steps before.
        const under = isStream && isCausal ? { ...sizes, padding: 'valid' as const } : sizes
        const windows = windowsUnder(`${own} (${kind})`, x.shape, lengths, under, 'zeros', 'taps last')
        const [, batch] = x.shape
        const { time, height } = windows
        const rows = gathered(t, x, windows, channels, [time, batch * height, taps])
        const patches = t.reshape(rows, [time, batch * height, taps * channels])
        const product = t.linear(patches, t.reshape(kernel, [taps * channels, filters]), bias)
        return t.reshape(activated(t, product, activation), [time, batch, features])
      },
      openStream: (batch, { dtype }, step) =>
        isCausal ? causalStream({ name: own, dtype, shapes: [[size[0] - 1, batch, channels]] }, step) : undefined,
    }
  })
}

/** Glorot & Bengio's limit, if every tap of the window counts as an input and as an output. */
function glorot(taps: number, inputs: number, outputs: number): LayerInitializerFunction {
  const limit = Math.sqrt(6 / (taps * (inputs + outputs)))
  return (values, _, random) => {
    random.fillUniform(values, limit)
  }
}

/** The stream of a causal convolution: the inputs that later windows still see are carried, [K-1,B,C]. */
function causalStream(form: StateForm, convolve: (window: Tensor<FloatArray>) => Promise<BackendTensor>): LayerStream {
  return hostStream(form, async (input, [before]) => {
    const { data, shape } = (await hostTensor(input)) as Tensor<FloatArray>
    const all: FloatArray = new DTYPES[form.dtype].array(before.data.length + data.length)
    all.set(before.data)
    all.set(data, before.data.length)
    const [steps, ...row] = before.shape
    const output = await convolve({ data: all, shape: [steps + shape[0], ...row] })
    return [output, [{ data: all.slice(data.length), shape: before.shape }]]
  })
}
