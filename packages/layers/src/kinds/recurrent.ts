import { type CellMode, describeValue, elementCount, hiddenColumns, outputSize } from '@cudnn-rnn/canonical'
import { checkIsObject, checkNames, codedRangeError, hasMember, invalidOption } from '@cudnn-rnn/canonical/rules'
import type { ImportedNetwork } from '@cudnn-rnn/interop'
import {
  CudnnGRU,
  CudnnLSTM,
  CudnnRNNRelu,
  CudnnRNNTanh,
  type InitializerOptions,
  type LSTMOptions,
  type ModelOptions,
  type Stream,
} from '@cudnn-rnn/models'
import { checkedStreamState, type GradientTape } from '@cudnn-rnn/ops/executor'
import { fromBase64, toBase64 } from '../base64.js'
import { type Forwarded, hostTensor, type LayerInput } from '../forwarded.js'
import { type ConfigValue, Layer, type LayerConfig, type LayerDefinition, type Pass } from '../layer.js'
import type { LayerBuild } from '../layer_build.js'
import { checkInputRule, doesNotFit, type LayerOptions, SEQUENCE } from '../layer_options.js'
import type { LayerStream } from '../layer_stream.js'
import { featuresOf, type Signal } from '../signal.js'
import { seedOfStream } from '../training/random_streams.js'

export type RecurrentModel = CudnnLSTM | CudnnGRU | CudnnRNNRelu | CudnnRNNTanh

/**
 * Options of a recurrent layer: the model's, whose input size is inferred. `inputMode` is `linear_input` unless you say
 * otherwise: `auto_select` leaves out the input matrices where input and units have one size, and then no other framework can
 * take the weights.
 */
type RecurrentLayerOptions = LayerOptions & (DrawnNetwork | NetworkOfFile)

type CudnnLSTMLayerOptions = LayerOptions & (DrawnLSTM | NetworkOfFile)

/** A new network. */
type DrawnNetwork = Omit<ModelOptions, 'numLayers' | 'inputSize'> &
  Pick<InitializerOptions, 'kernelInitializer' | 'biasInitializer'> & {
    /** L. Default 1. */
    readonly numLayers?: number | undefined
    /** I; needed where the layer is the first of a model. */
    readonly inputSize?: number | undefined
    readonly network?: undefined
  }

type DrawnLSTM = DrawnNetwork & Pick<LSTMOptions, 'numProj' | 'cellClip'> & Pick<InitializerOptions, 'forgetBias'>

/** A network that exists: its structure and its parameters. */
type NetworkOfFile = Pick<ModelOptions, 'dropout' | 'seed'> & {
  /** An entry of `networks` of `importWeights`, or the descriptor of a model with the result of its `paramsToCanonical`. */
  readonly network: Pick<ImportedNetwork, 'descriptor' | 'canonical'> &
    Partial<Pick<ImportedNetwork, 'reverse' | 'inputs'>>
}

const MODELS = {
  lstm: { model: CudnnLSTM, kind: 'cudnnLSTM', name: 'cudnn_lstm' },
  gru: { model: CudnnGRU, kind: 'cudnnGRU', name: 'cudnn_gru' },
  rnn_relu: { model: CudnnRNNRelu, kind: 'cudnnRNNRelu', name: 'cudnn_rnn_relu' },
  rnn_tanh: { model: CudnnRNNTanh, kind: 'cudnnRNNTanh', name: 'cudnn_rnn_tanh' },
} as const satisfies Readonly<Record<CellMode, unknown>>

/** Options that are saved: the structure of the network, and its dropout. */
const STRUCTURE = ['numLayers', 'numUnits', 'inputMode', 'direction', 'inputSize', 'numProj', 'cellClip'] as const
const DROPOUT = ['dropout', 'seed'] as const
const OPTION_NAMES = [
  ...STRUCTURE,
  ...DROPOUT,
  'kernelInitializer',
  'biasInitializer',
  'forgetBias',
  'network',
] as const

/**
 * L layers of {@link CudnnLSTM}: [T,B,I] to [T,B,D·H] (D·P with numProj). Variable: the opaque parameters, saved canonically.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; when the model is built as `new CudnnLSTM` and `createParams`
 * @example
 * ```ts
 * import { cudnnLSTM, lastStep, openBackend, sequential } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const lstm = cudnnLSTM({ numLayers: 2, numUnits: 4, inputSize: 3, forgetBias: 1, dropout: 0.2 })
 * const model = sequential(backend, [lstm, lastStep()], { seed: 1 })
 * const { shape } = await model.predict({ data: new Float32Array(5 * 2 * 3), shape: [5, 2, 3] }) // [T,B,I]
 * console.log(shape) // [2, 4]
 * ```
 */
export function cudnnLSTM(options: CudnnLSTMLayerOptions): LayerDefinition {
  return recurrent('lstm', options, OPTION_NAMES)
}

/**
 * L layers of {@link CudnnGRU}: [T,B,I] to [T,B,D·H].
 *
 * @example
 * ```ts
 * import { cudnnGRU, openBackend, sequential } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const gru = cudnnGRU({ numUnits: 4, inputSize: 3, direction: 'bidirectional' })
 * const model = sequential(backend, [gru], { seed: 1 })
 * const { shape } = await model.predict({ data: new Float32Array(5 * 2 * 3), shape: [5, 2, 3] }) // [T,B,I]
 * console.log(shape) // [5, 2, 8]
 * ```
 */
export function cudnnGRU(options: RecurrentLayerOptions): LayerDefinition {
  return recurrent('gru', options, CELLLESS_NAMES)
}

/**
 * L layers of {@link CudnnRNNRelu}: [T,B,I] to [T,B,D·H].
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { cudnnRNNRelu, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [cudnnRNNRelu({ numUnits: 4, inputSize: 3 })], { seed: 1 })
 * const { shape } = await model.predict({ data: new Float32Array(5 * 2 * 3), shape: [5, 2, 3] }) // [T,B,I]
 * console.log(shape) // [5, 2, 4]
 * ```
 */
export function cudnnRNNRelu(options: RecurrentLayerOptions): LayerDefinition {
  return recurrent('rnn_relu', options, CELLLESS_NAMES)
}

/**
 * L layers of {@link CudnnRNNTanh}: [T,B,I] to [T,B,D·H].
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { cudnnRNNTanh, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [cudnnRNNTanh({ numUnits: 4, inputSize: 3, numLayers: 2 })], { seed: 1 })
 * const { shape } = await model.predict({ data: new Float32Array(5 * 2 * 3), shape: [5, 2, 3] }) // [T,B,I]
 * console.log(shape) // [5, 2, 4]
 * ```
 */
export function cudnnRNNTanh(options: RecurrentLayerOptions): LayerDefinition {
  return recurrent('rnn_tanh', options, CELLLESS_NAMES)
}

const OF_LSTM: readonly string[] = ['numProj', 'cellClip', 'forgetBias']
const CELLLESS_NAMES = OPTION_NAMES.filter((name) => !OF_LSTM.includes(name))

/** The options of a network that exists, in the place of the network. */
function ofNetwork(
  kind: string,
  mode: CellMode,
  { network, ...rest }: LayerOptions & NetworkOfFile,
): LayerOptions & DrawnLSTM {
  checkNames(`make ${kind} of a network`, rest, [...DROPOUT, 'name'])
  checkIsObject(`make ${kind}`, 'network', network)
  const { descriptor, reverse = false, inputs = {} } = network
  if (descriptor?.cellMode !== mode)
    throw invalidOption(`make ${kind}`, 'network', `of the cell ${mode}`, descriptor?.cellMode)
  if (reverse || Object.keys(inputs).length > 0) {
    const rule =
      'one that reads from the first step, from zero states, without fixed lengths (modelFromNetwork runs it)'
    throw invalidOption(`make ${kind}`, 'network', rule, { reverse, inputs: Object.keys(inputs) })
  }
  const structure = STRUCTURE.flatMap((name) => (descriptor[name] === undefined ? [] : [[name, descriptor[name]]]))
  return { ...Object.fromEntries(structure), ...rest }
}

function recurrent(mode: CellMode, all: CudnnLSTMLayerOptions, names: readonly string[]): LayerDefinition {
  const { kind, name: base, model: Model } = MODELS[mode]
  // The model checks the values when it is built.
  checkNames(`make ${kind}`, all, [...names, 'name'])
  const options: LayerOptions & DrawnLSTM = all.network === undefined ? all : ofNetwork(kind, mode, all)
  const canonical = all.network?.canonical
  const { name: given, kernelInitializer, biasInitializer, forgetBias, ...own } = options
  const inputOf = (features: number): Signal => ({ isSequence: true, features })
  const definition: LayerDefinition = {
    kind,
    name: given,
    config: savedOptions(options),
    states: (mode === 'lstm' ? 2 : 1) * (options.numLayers ?? 1) * (options.direction === 'bidirectional' ? 2 : 1),
    ...(options.inputSize !== undefined && { input: inputOf(options.inputSize) }),
    build(input, build) {
      checkInputRule(definition, input, SEQUENCE)
      const { inputSize = featuresOf(input) } = options
      if (inputSize !== input.features) throw doesNotFit(definition, input, `[T,B,${inputSize}]`)
      const name = build.nameOf(given, base)
      const seed = options.seed ?? build.recurrentSeed()
      const network = { inputMode: 'linear_input' as const, ...own, numLayers: own.numLayers ?? 1, inputSize }
      const modelOf = (stream: number): RecurrentModel =>
        new Model(build.backend, { ...network, seed: seedOfStream(seed, stream) })
      const model = modelOf(0)
      const { descriptor, numDirs } = model
      const output: Signal = {
        isSequence: true,
        features: outputSize(descriptor),
        ...(numDirs === 2 && { reversedFrom: hiddenColumns(descriptor) }),
      }
      const initializers = { kernelInitializer, biasInitializer, ...(forgetBias !== undefined && { forgetBias }) }
      try {
        const startsAtZero = build.startsAtZero(name, parameterCount(model))
        const params =
          canonical === undefined && startsAtZero
            ? model.createSlot(name)
            : model.createParams(canonical === undefined ? { seed, name, ...initializers } : { name, canonical })
        return new RecurrentLayer(build, modelOf, model, { definition, name, input, output, variables: [params] })
      } catch (error) {
        model.dispose()
        throw error
      }
    },
  }
  return definition
}

/**
 * A recurrent layer, with the model that computes it.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { cudnnLSTM, lastStep, RecurrentLayer, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [cudnnLSTM({ numUnits: 4, inputSize: 3 }), lastStep()])
 * const [layer] = model.layers
 * if (layer instanceof RecurrentLayer) console.log(layer.model.rnnMode, layer.model.paramsSize()) // lstm 144
 * ```
 */
export class RecurrentLayer extends Layer {
  readonly #modelOf: (stream: number) => RecurrentModel
  #stream = 0
  #model: RecurrentModel

  /** @param modelOf makes the model with the seed of a stream of masks */
  constructor(
    { backend }: LayerBuild,
    modelOf: (stream: number) => RecurrentModel,
    model: RecurrentModel,
    info: ConstructorParameters<typeof Layer>[1],
  ) {
    super(backend, info)
    this.#modelOf = modelOf
    this.#model = model
  }

  /** True for every copy of the package. */
  static override [Symbol.hasInstance](value: unknown): value is RecurrentLayer {
    return hasMember(value, 'model') && hasMember(value, 'stateShapes')
  }

  get model(): RecurrentModel {
    return this.#model
  }

  override get stateCount(): number {
    return this.model.rnnMode === 'lstm' ? 2 : 1
  }

  override stateShapes(batch: number): readonly (readonly number[])[] {
    const h = this.model.stateShape(batch)
    return this.model.rnnMode === 'lstm' ? [h, [h[0], batch, this.model.descriptor.numUnits]] : [h]
  }

  async forward(t: GradientTape, x: LayerInput, { lengths, states, keepsStates }: Pass): Promise<Forwarded> {
    const [h, c] = states ?? []
    const { output, state } = await this.model.run(t, this.variables[0], x, { lengths, state: states && { h, c } })
    return { output, ...(keepsStates && { states: [state.h, state.c].filter((each) => each !== undefined) }) }
  }

  override openStream(batch: number): LayerStream {
    const stream: Stream = this.model.stream(this.variables[0], { batch })
    return {
      async step(input, rows) {
        if (rows === undefined) return stream.step(input)
        const { data, shape } = await hostTensor(input)
        const output = await stream.stepRows(rows, { data, shape: shape.slice(1) })
        return { data: output.data, shape: [1, ...output.shape] }
      },
      reset: (rows) => stream.reset(rows),
      state: (rows) => stream.state(rows),
      checkedState: (state, count = batch) =>
        checkedStreamState(this.model.descriptor, this.backend.dtype, state, count),
      restore: (state, rows) => stream.restore(state as Awaited<ReturnType<Stream['state']>>, rows),
      dispose: () => stream.dispose(),
    }
  }

  override async randomState(): Promise<ConfigValue> {
    if (this.model.descriptor.dropout === 0) return null
    return toBase64(await this.model.dropoutState())
  }

  override restoreRandomState(state: ConfigValue): void {
    if (typeof state !== 'string') return
    const bytes = fromBase64(state)
    if (bytes !== undefined) {
      this.model.restoreDropoutState(bytes)
      return
    }
    throw codedRangeError(
      'ERR_DROPOUT_STATE',
      `Cannot restore the dropout of ${this.name} as its state must be what randomState() returned: current value is ${describeValue(state)}`,
      { layer: this.name },
    )
  }

  /** The generator of an executor has one seed for its life, so another stream is another model of the same variables. */
  override useRandomStream(stream: number): void {
    const { dropout, numLayers } = this.model.descriptor
    if (stream === this.#stream || dropout === 0 || numLayers === 1) return
    const model = this.#modelOf(stream)
    this.#model.dispose()
    this.#model = model
    this.#stream = stream
  }

  override dispose(): void {
    super.dispose()
    this.model.dispose()
  }
}

/** Numbers that are trained; an executor's padding of an opaque buffer does not count. */
export function parameterCount({ canonicalWeightShapes, canonicalBiasShapes }: RecurrentModel): number {
  return [...canonicalWeightShapes, ...canonicalBiasShapes].reduce((sum, shape) => sum + elementCount(shape), 0)
}

function savedOptions(options: DrawnLSTM): LayerConfig {
  const entries = [...STRUCTURE, ...DROPOUT].map((name) => [name, options[name]] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as LayerConfig
}
