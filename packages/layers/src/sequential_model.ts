import { describeValue, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import {
  checkArguments,
  checkedElsewhere,
  checkOptions,
  FILE_PATH,
  FLAG,
  integerFrom,
  type OptionsOf,
  optional,
} from '@cudnn-rnn/canonical/rules'
import type { Backend, TensorLike } from '@cudnn-rnn/ops'
import type { GradientTape } from '@cudnn-rnn/ops/executor'
import type { FitResult, Position } from '@cudnn-rnn/train'
import { checkIsBackend } from './backend_argument.js'
import { joinedInputs, type LayerData, type LayerExample } from './batches.js'
import { buildChain, chainLengths, chainStream, forwardChain } from './chain.js'
import { codedRangeError, codedTypeError } from './coded_error.js'
import { type DecodeOptions, decodeLabels } from './decode_labels.js'
import { type EvaluateOptions, evaluateModel, type ModelMetrics } from './evaluate_model.js'
import { fitModel, type ModelFitOptions } from './fit_model.js'
import type { Forwarded, LayerInput } from './forwarded.js'
import { type ConfigValue, Layer, type LayerDefinition, type Pass } from './layer.js'
import { type FileVariables, LayerBuild } from './layer_build.js'
import { checkAreLayers } from './layer_list.js'
import type { Loss } from './losses.js'
import { ModelStream, type ModelStreamOptions } from './model_stream.js'
import { type PredictOptions, predictRows, predictTensor } from './predict_model.js'
import { SAVE_OPTIONS, type SaveModelOptions, saveModel } from './save_model.js'
import { savedLayer } from './saved_layer.js'
import type { Signal } from './signal.js'
import { summaryOf } from './summary.js'
import type { WholeModel } from './whole_model.js'

const OPTIONS = {
  /** Seed of initial values and masks; an integer ≥ 0. Default 0. */
  // By LayerBuild, whose generators take it.
  seed: checkedElsewhere<number | undefined>(),
  /** Size of one input vector, if the first layer does not say it. */
  inputSize: optional(integerFrom(1)),
  /** Whether inputs have a time axis. Default true. */
  isSequence: optional(FLAG),
}

/** Options of {@link sequential}. */
export interface SequentialOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * A model of layers, each applied to the output of the one before; sizes are inferred.
 *
 * @throws RangeError `ERR_LAYERS_DO_NOT_FIT`, naming both layers and their shapes, `ERR_UNKNOWN_INPUT`, `ERR_INVALID_OPTION`;
 *   TypeError `ERR_NOT_A_LAYER`, `ERR_UNKNOWN_OPTION`, `ERR_NOT_A_BACKEND`; in each case the executor holds no new tensor
 * @example
 * ```ts
 * import { cudnnGRU, dense, embedding, lastStep, openBackend, sequential } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(
 *   backend,
 *   [embedding({ size: 5, units: 4 }), cudnnGRU({ numUnits: 8, direction: 'bidirectional' }), lastStep(), dense({ units: 2 })],
 *   { seed: 1 },
 * )
 * const data = [
 *   { input: [1, 2, 3], label: 0 },
 *   { input: [4, 3], label: 1 },
 * ]
 * await model.fit(data, { loss: 'softmax_cross_entropy', batchSize: 2, epochs: 20, learningRate: 0.05 })
 * const [first] = await model.predict([[1, 2, 3]])
 * console.log(first.shape) // [ 2 ]
 * ```
 */
export function sequential(
  backend: Backend,
  layers: readonly LayerDefinition[],
  options: SequentialOptions = {},
): SequentialModel {
  return new SequentialModel(backend, layers, options)
}

/** A tensor for each input: of a literal list exactly as many. */
export type PredictedRows<Inputs extends readonly LayerExample['input'][]> = {
  -readonly [Row in keyof Inputs]: Tensor<FloatArray>
}

/**
 * The result of {@link sequential}: a layer made of layers, with the methods of a whole model.
 *
 * @example
 * ```ts
 * import { cudnnGRU, dense, embedding, lastStep, openBackend, sequential, type SequentialModel } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const layers = [embedding({ size: 5, units: 4 }), cudnnGRU({ numUnits: 8 }), lastStep(), dense({ units: 2 })]
 * const model: SequentialModel = sequential(backend, layers, { seed: 1 })
 * const data = [
 *   { input: [1, 2, 3], label: 0 },
 *   { input: [4, 3], label: 1 },
 * ]
 * await model.fit(data, { loss: 'softmax_cross_entropy', batchSize: 2, epochs: 30, learningRate: 0.05 })
 * console.log((await model.evaluate(data, { batchSize: 2 })).accuracy) // 1
 * ```
 */
export class SequentialModel extends Layer implements WholeModel {
  readonly layers: readonly Layer[]
  readonly seed: number
  /** The loss it was trained with. */
  loss: Loss | undefined

  constructor(
    backend: Backend,
    definitions: readonly LayerDefinition[],
    options: SequentialOptions = {},
    file?: FileVariables,
  ) {
    const action = 'build a model'
    checkIsBackend(action, backend)
    checkOptions(action, options, OPTIONS)
    checkAreLayers(action, definitions)
    const { seed = 0 } = options
    const input = inputOf(action, definitions, options)
    const layers = buildChain(definitions, input, new LayerBuild(backend, seed, file))
    const definition: LayerDefinition = {
      kind: 'sequential',
      name: undefined,
      config: { seed, input: { ...input }, layers: definitions.map(savedLayer) } as LayerDefinition['config'],
      build: (_, build) => new SequentialModel(build.backend, definitions, options),
    }
    const variables = layers.flatMap((layer) => layer.variables)
    super(backend, { definition, name: 'model', input, output: layers[layers.length - 1].output, variables })
    this.layers = layers
    this.seed = seed
  }

  get executor(): Backend {
    return this.backend
  }

  override get parts(): readonly Layer[] {
    return this.layers
  }

  override outputLengths(lengths: Int32Array): Int32Array {
    return chainLengths(this.layers, lengths)
  }

  forward(t: GradientTape, x: LayerInput, pass: Pass): Promise<Forwarded> {
    return forwardChain(this.layers, t, x, pass)
  }

  /**
   * Trains on examples or batches, with `fit` of `@cudnn-rnn/train`: with `checkpoints` an interrupted
   * run continues exactly where it was.
   *
   * @throws RangeError `ERR_EXAMPLE`, `ERR_INVALID_OPTION`, `ERR_RUN_LOCKED`; the errors of `fit`
   */
  fit(data: LayerData, options: ModelFitOptions): Promise<FitResult> {
    return fitModel(this, data, options)
  }

  /**
   * The mean loss over all rows that count, without dropout; of the cross-entropies the accuracy, of CTC the label error rate
   * of the likeliest path.
   *
   * @throws RangeError `ERR_NO_LOSS` if the model was not trained and no loss is given, `ERR_EXAMPLE`
   */
  evaluate(data: LayerData, options: EvaluateOptions = {}): Promise<ModelMetrics> {
    return evaluateModel(this, data, options)
  }

  /**
   * Outputs without dropout, as host tensors: of a batch [T,B,…] or [B,…] one tensor; of a list of inputs of any lengths
   * one for each, in their order.
   *
   * @throws RangeError `ERR_SHAPE`, `ERR_EXAMPLE`, `ERR_EMPTY_BATCH`, `ERR_SEQUENCE_LENGTHS`, `ERR_ID_OUT_OF_RANGE`
   */
  predict(input: TensorLike, options?: PredictOptions): Promise<Tensor<FloatArray>>
  predict<const Inputs extends readonly LayerExample['input'][]>(
    inputs: Inputs,
    options?: PredictOptions,
  ): Promise<PredictedRows<Inputs>>
  predict(
    input: TensorLike | readonly LayerExample['input'][],
    options: PredictOptions = {},
  ): Promise<Tensor<FloatArray> | Tensor<FloatArray>[]> {
    if (Array.isArray(input)) return predictRows(this, input as readonly LayerExample['input'][], options)
    return predictTensor(this, input as TensorLike, options)
  }

  /**
   * The label sequences that a model trained with CTC reads in a batch [T,B,…] or in a list of inputs of any lengths: by the
   * likeliest class of every step, or by beam search where `beamWidth` or `scorer` are given.
   *
   * @throws RangeError `ERR_NO_LOSS` if the model was not trained with `ctc` and `loss` is not given, `ERR_CTC_LOGITS` for
   *   NaN; as `predict` and `ctcBeamSearchDecoder`
   */
  decode<State = undefined>(
    input: TensorLike | readonly LayerExample['input'][],
    options: DecodeOptions<State> = {},
  ): Promise<readonly (readonly number[])[]> {
    return decodeLabels(this, input, options)
  }

  /** Joins inputs of unequal lengths into one batch, for `call`. Throws RangeError `ERR_EXAMPLE`, `ERR_EMPTY_BATCH`. */
  batchInputs(inputs: readonly LayerExample['input'][]) {
    return joinedInputs(inputs, { input: this.input, dtype: this.backend.dtype })
  }

  /**
   * Steps through sequences as they arrive, with the states inside.
   *
   * @throws RangeError `ERR_NO_STREAM`, naming the layer that needs the whole sequence, `ERR_BIDIRECTIONAL_STREAM`
   */
  stream(options: ModelStreamOptions = {}): ModelStream {
    return new ModelStream(this, options)
  }

  override openStream(batch: number) {
    return chainStream(this.layers, batch)
  }

  /** A table of layers, shapes and numbers of parameters. */
  summary(): string {
    return summaryOf(this)
  }

  override toString(): string {
    return this.summary()
  }

  /**
   * Saves layers and variables as a TensorFlow V2 checkpoint, `<path>.index` and `<path>.data-00000-of-00001`.
   *
   * @throws TypeError `ERR_INVALID_ARGUMENT`; RangeError `ERR_INVALID_OPTION` for a path with a NUL; CheckpointError
   */
  async save(path: string, options: SaveModelOptions = {}): Promise<void> {
    checkArguments('save a model', { path }, { path: FILE_PATH })
    checkOptions('save a model', options, SAVE_OPTIONS)
    await saveModel(this, path, options)
  }

  /**
   * The model as the bytes of a `.keras` or an ONNX file that compute the same.
   *
   * @throws RangeError `ERR_NO_EXPORT`, naming a layer that the format has no counterpart of, `ERR_INVALID_OPTION`
   */
  async export(format: 'keras' | 'onnx'): Promise<Uint8Array> {
    // Loaded on first use: a page that trains does not carry the table of all layers.
    if (format === 'keras') return (await import('./export_keras.js')).encodeKeras(this)
    if (format === 'onnx') return (await import('./export_onnx.js')).encodeOnnx(this)
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot export as format must be keras or onnx: current value is ${describeValue(format)}`,
      { option: 'format', value: format },
    )
  }

  override async randomState(): Promise<ConfigValue> {
    const states: Record<string, ConfigValue> = {}
    for (const layer of this.layers) {
      const state = await layer.randomState()
      if (state !== null) states[layer.name] = state
    }
    return states
  }

  override restoreRandomState(state: ConfigValue | Position): void {
    if (typeof state !== 'object' || state === null) return
    const states = new Map<string, ConfigValue>(Object.entries(state))
    for (const layer of this.layers) layer.restoreRandomState(states.get(layer.name) ?? null)
  }
}

function inputOf(action: string, definitions: readonly LayerDefinition[], options: SequentialOptions): Signal {
  const [first] = definitions
  if (first === undefined) {
    throw codedTypeError('ERR_NOT_A_LAYER', `Cannot ${action} as there must be at least one layer: current number is 0`)
  }
  const { inputSize, isSequence } = options
  const known = first.input ?? (inputSize === undefined ? undefined : { isSequence: true, features: inputSize })
  if (known === undefined) {
    throw codedRangeError(
      'ERR_UNKNOWN_INPUT',
      `Cannot ${action} as the size of its input must be known: current first layer is ${first.kind}. Give inputSize, to sequential or to a recurrent first layer`,
      { layer: first.kind },
    )
  }
  const given: Signal = inputSize === undefined ? known : { isSequence: known.isSequence, features: inputSize }
  return isSequence === undefined ? given : { ...given, isSequence }
}
