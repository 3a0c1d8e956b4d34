import { either, integerFrom, NUMBER, type OptionsOf, oneOf, optional } from '@cudnn-rnn/arguments'
import { type BackendTensor, DTYPES, type FloatDType, isBackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import { describeValue, elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { ACTIVATIONS, type ActivationName } from '@cudnn-rnn/executor-kit'
import { codedRangeError } from './coded_error.js'
import type { Forwarded } from './forwarded.js'
import type { LayerDefinition, LayerInfo, Pass } from './layer.js'
import { INITIALIZER, type LayerBuild, type LayerInitializerFunction } from './layer_build.js'
import {
  checkInputRule,
  checkLayerOptions,
  invalidOption,
  LAYER_OPTIONS,
  type LayerOptions,
  SEQUENCE,
} from './layer_options.js'
import type { LayerStream } from './layer_stream.js'
import { featuresOf } from './signal.js'
import { UnfinishedTensors } from './unfinished_tensors.js'
import { channelsOf, EXTENT, outputHeight, WindowLayer, type WindowSizes } from './window_layer.js'
import { PADDINGS, type Windows, windowsOf } from './windows.js'

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

/** What both convolutions have. */
type ConvolutionOptions = OptionsOf<typeof SHARED_OPTIONS>

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

/** Options of {@link conv1d}. */
export interface Conv1DOptions extends LayerOptions, OptionsOf<typeof OPTIONS_1D> {}

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

/** Options of {@link conv2d}. */
export interface Conv2DOptions extends LayerOptions, OptionsOf<typeof OPTIONS_2D> {}

/**
 * A convolution over time: [T,B,I] to [T',B,O], T' = T with `same` or `causal` and stride 1. Variables as TensorFlow's:
 * `kernel` [K,I,O], `bias` [O]. Sequence lengths become those of the output. A `causal` one of stride 1 streams.
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
  checkLayerOptions(kind, options, OPTIONS_1D)
  const { kernelSize, strides = 1, padding = 'valid' } = options
  if (typeof padding === 'number') checkZeros(kind, padding, kernelSize)
  const sizes = { height: 1, size: [kernelSize, 1], strides: [strides, 1], padding } as const
  const config = { kernelSize, strides, padding }
  return convolution(kind, options, sizes, config, ({ size: [taps] }, channels) => [taps, channels])
}

/**
 * A convolution over a picture that arrives column by column, such as a line of text or a spectrogram: [T,B,height·C] to
 * [T',B,height'·O]. Variables as TensorFlow's: `kernel` [time,height,C,O], `bias` [O]. Sequence lengths become those of the
 * output.
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
  checkLayerOptions(kind, options, OPTIONS_2D)
  const { height, kernelSize, strides = [1, 1], padding = 'valid' } = options
  const sizes = { height, size: kernelSize, strides, padding }
  const config = { height, kernelSize, strides, padding }
  return convolution(kind, options, sizes, config, ({ size }, channels) => [...size, channels])
}

/** More zeros than a window less one step would make windows of zeros alone. */
function checkZeros(kind: string, padding: number, kernelSize: number): void {
  if (Number.isSafeInteger(padding) && padding >= 0 && padding < kernelSize) return
  throw invalidOption(kind, 'padding', `an integer in 0..kernelSize-1, or one of ${PADDINGS.join(', ')}`, padding)
}

function convolution(
  kind: string,
  options: ConvolutionOptions,
  sizes: WindowSizes,
  config: LayerDefinition['config'],
  kernelShape: (sizes: WindowSizes, channels: number) => readonly number[],
): LayerDefinition {
  const { filters, activation = 'linear', kernelInitializer = 'glorot_uniform', biasInitializer = 0 } = options
  const definition: LayerDefinition = {
    kind,
    name: options.name,
    config: { filters, ...config, activation },
    build(input, build) {
      checkInputRule(definition, input, SEQUENCE)
      const channels = channelsOf(definition, input, sizes)
      const name = build.nameOf(options.name, kind)
      const shape = [...kernelShape(sizes, channels), filters]
      const taps = sizes.size[0] * sizes.size[1]
      const initializer = kernelInitializer === 'glorot_uniform' ? glorot(taps, channels, filters) : kernelInitializer
      const variables = build.variables(name, [
        ['kernel', shape, initializer],
        ['bias', [filters], biasInitializer],
      ])
      const output = { isSequence: true, features: outputHeight(sizes) * filters }
      return new ConvolutionLayer(build, { definition, name, input, output, variables }, sizes, channels, activation)
    },
  }
  return definition
}

/** Glorot & Bengio's limit, where every tap of the window counts as an input and as an output. */
function glorot(taps: number, inputs: number, outputs: number): LayerInitializerFunction {
  const limit = Math.sqrt(6 / (taps * (inputs + outputs)))
  return (values, _, random) => {
    random.fillUniform(values, limit)
  }
}

class ConvolutionLayer extends WindowLayer {
  readonly #activation: ActivationName | 'linear'

  constructor(
    build: LayerBuild,
    info: LayerInfo,
    sizes: WindowSizes,
    channels: number,
    activation: ActivationName | 'linear',
  ) {
    super(build, info, sizes, channels)
    this.#activation = activation
  }

  async forward(input: TensorLike, { lengths }: Pass): Promise<Forwarded> {
    const { ops } = this.backend
    const windows = windowsOf(this.batchOf(input, lengths), this.sizes, 'zeros', 'taps last')
    const activation = this.#activation
    const { patches, activated, output } = this.#convolve(input, windows)
    const backward = (dy: BackendTensor) => {
      using flat = ops.reshape(dy, activated.shape)
      using slope = activation === 'linear' ? undefined : ops.activationGradient(activated, flat, activation)
      const dProduct = slope ?? flat
      using kernel = this.#matrix()
      using made = new UnfinishedTensors()
      const { input: dPatches, kernel: dKernel, bias } = ops.linearGradients(patches, kernel, dProduct)
      made.add(bias)
      using _dPatches = dPatches
      using _dKernel = dKernel
      const [time, rows] = patches.shape as readonly [number, number]
      const gathered = [time, rows, this.#taps]
      using dRows = ops.reshape(dPatches, [...gathered, this.channels])
      const dInput = made.add(this.scatter(dRows, windows, gathered, input.shape))
      return made.finish({ input: dInput, variables: [ops.reshape(dKernel, this.variables[0].shape), bias] })
    }
    const release = () => {
      patches.dispose()
      activated.dispose()
    }
    return { output, backward, release }
  }

  override openStream(batch: number): LayerStream {
    const { size, strides, padding, height } = this.sizes
    const isCausal = height === 1 && strides[0] === 1 && (padding === 'causal' || size[0] === 1)
    if (!isCausal) return super.openStream(batch)
    return new CausalStream(this.backend.dtype, [size[0] - 1, batch, this.channels], async (window) => {
      const [time] = window.shape as readonly [number]
      const places = windowsOf(
        { time, batch, height: 1, lengths: null },
        { ...this.sizes, padding: 'valid' },
        'zeros',
        'taps last',
      )
      const { patches, activated, output } = this.#convolve(window, places)
      patches.dispose()
      activated.dispose()
      return output
    })
  }

  get #taps(): number {
    return this.sizes.size[0] * this.sizes.size[1]
  }

  /** The kernel as [taps·C,O]. */
  #matrix(): BackendTensor {
    const { shape, value } = this.variables[0]
    const [outputs] = shape.slice(-1)
    return this.backend.ops.reshape(value, [this.#taps * this.channels, outputs])
  }

  /** Patches [T',B·height',taps·C], their activated product with the kernel, and the same as the output's own tensor. */
  #convolve(input: TensorLike, windows: Windows) {
    const { ops } = this.backend
    const [, batch] = input.shape as readonly [number, number]
    const { time, height } = windows
    using made = new UnfinishedTensors()
    using rows = this.gather(input, windows, [time, batch * height, this.#taps])
    const patches = made.add(ops.reshape(rows, [time, batch * height, this.#taps * this.channels]))
    using kernel = this.#matrix()
    const activated = made.add(this.#activated(ops.linear(patches, kernel, this.variables[1].value)))
    const output = ops.reshape(activated, [time, batch, featuresOf(this.output)])
    return made.finish({ patches, activated, output })
  }

  #activated(product: BackendTensor): BackendTensor {
    if (this.#activation === 'linear') return product
    using finished = product
    return this.backend.ops.activate(finished, this.#activation)
  }
}

/** Steps of a causal convolution: the inputs that later windows still see are carried, in host memory. */
class CausalStream implements LayerStream {
  readonly #dtype: FloatDType
  readonly #shape: readonly [time: number, batch: number, channels: number]
  readonly #convolve: (window: Tensor<FloatArray>) => Promise<BackendTensor>
  #carried: FloatArray

  constructor(
    dtype: FloatDType,
    shape: readonly [number, number, number],
    convolve: (window: Tensor<FloatArray>) => Promise<BackendTensor>,
  ) {
    this.#dtype = dtype
    this.#shape = shape
    this.#convolve = convolve
    this.#carried = new DTYPES[dtype].array(elementCount(shape))
  }

  async step(input: TensorLike): Promise<BackendTensor> {
    const { data, shape } = (isBackendTensor(input) ? await input.read() : input) as Tensor<FloatArray>
    const [before, batch, channels] = this.#shape
    const all: FloatArray = new DTYPES[this.#dtype].array(this.#carried.length + data.length)
    all.set(this.#carried)
    all.set(data, this.#carried.length)
    const output = await this.#convolve({ data: all, shape: [before + (shape[0] ?? 0), batch, channels] })
    this.#carried = all.slice(all.length - this.#carried.length)
    return output
  }

  reset(rows?: readonly number[]): void {
    const [time, batch, channels] = this.#shape
    for (const row of rows ?? Array(batch).keys()) {
      for (let t = 0; t < time; t++) {
        const begin = (t * batch + row) * channels
        this.#carried.fill(0, begin, begin + channels)
      }
    }
  }

  async state(): Promise<unknown> {
    return { data: this.#carried.slice(), shape: this.#shape }
  }

  restore(state: unknown): void {
    const { data } = (typeof state === 'object' && state !== null ? state : {}) as { data?: FloatArray }
    if (data?.length !== this.#carried.length) {
      throw codedRangeError(
        'ERR_LAYER_STATES',
        `Cannot restore the state of a convolution as it must have shape [${this.#shape.join(',')}]: current value is ${describeValue(state)}`,
      )
    }
    this.#carried.set(data)
  }

  dispose(): void {}
}
