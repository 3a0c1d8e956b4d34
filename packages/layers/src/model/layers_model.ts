import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import {
  checkedElsewhere,
  checkOptions,
  codedRangeError,
  codedTypeError,
  FLAG,
  integerFrom,
  invalidOption,
  type OptionsOf,
  optional,
  refuseOtherMethods,
} from '@cudnn-rnn/canonical/rules'
import type { StreamPool, StreamPoolOptions } from '@cudnn-rnn/models'
import type { Backend, TensorLike } from '@cudnn-rnn/ops'
import { checkIsBackend, type GradientTape } from '@cudnn-rnn/ops/executor'
import type { FitResult } from '@cudnn-rnn/train'
import type { LayerInput } from '../forwarded.js'
import type {
  CheckedInput,
  Layer,
  LayerCallOptions,
  LayerCallResult,
  LayerDefinition,
  LayerRecordOptions,
  SequenceLengths,
} from '../layer.js'
import { type FileVariables, LayerBuild } from '../layer_build.js'
import { checkAreLayers } from '../layer_options.js'
import { savedPlan } from '../saved_layer.js'
import type { Signal } from '../signal.js'
import type { LayerData } from '../training/batches.js'
import { joinedInputs, type LayerExample } from '../training/joined_rows.js'
import { type EvaluateOptions, evaluateModel, type ModelMetrics } from '../training/evaluate_model.js'
import { fitModel, type ModelFitOptions } from '../training/fit_model.js'
import type { Loss } from '../training/losses.js'
import { type DecodeOptions, decodeLabels } from './decode_labels.js'
import { GraphLayer, OF_INPUTS } from './graph_layer.js'
import { chainPlan, type GraphPlan, ModelGraph } from './model_graph.js'
import { isNamed, type NamedInputs, namedInputs, oneOfModel } from './model_inputs.js'
import { ModelStream, type ModelStreamOptions, openModelStreamPool } from './model_stream.js'
import { type ModelValue, planOfValues } from './model_values.js'
import { type NamedRows, type PredictOptions, predictNamed, predictRows, predictTensor } from './predict_model.js'
import { checkSavePath, SAVE_OPTIONS, type SaveModelOptions, saveModel } from './save_model.js'
import { summaryOf } from './summary.js'
import type { ModelForwarded, WholeModel } from './whole_model.js'

const OPTIONS = {
  /** Seed of initial values and masks; an integer ≥ 0. Default 0. */
  // LayerBuild checks it: its generators take it.
  seed: checkedElsewhere<number | undefined>(),
  /** Size of one input vector, if the first layer does not say it. */
  inputSize: optional(integerFrom(1)),
  /** Whether inputs have a time axis. Default true. */
  isSequence: optional(FLAG),
}

interface SequentialOptions extends OptionsOf<typeof OPTIONS> {}

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
): LayersModel<'output'> {
  const action = 'build a model'
  checkIsBackend(action, backend)
  const given = checkOptions(action, options, OPTIONS)
  checkAreLayers(action, layers)
  return new LayersModel(backend, chainPlan([...layers], inputOf(action, layers, given)), given)
}

const FUNCTIONAL_OPTIONS = {
  /** Seed of initial values and masks; an integer ≥ 0. Default 0. */
  seed: OPTIONS.seed,
}

interface FunctionalOptions extends OptionsOf<typeof FUNCTIONAL_OPTIONS> {}

/**
 * A model of several inputs and outputs, as Keras' functional models: layers are applied to values, one of them to several if it
 * shall be shared, and final states of one begin another.
 *
 * @param inputs results of {@link input}; `predict`, `fit` and files have their names
 * @param outputs values by their names
 * @throws RangeError `ERR_MODEL_GRAPH` for values that make no model, `ERR_LAYERS_DO_NOT_FIT`, naming both layers and their shapes,
 *   `ERR_INVALID_OPTION`; TypeError `ERR_INVALID_ARGUMENT`, `ERR_UNKNOWN_OPTION`, `ERR_NOT_A_BACKEND`; in each case the executor holds
 *   no new tensor
 * @example
 * ```ts
 * import { cudnnGRU, dense, lastStep, openBackend } from '@cudnn-rnn/rnn'
 * import { apply, functional, input, merge } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const [left, right] = [input('left', { features: 3 }), input('right', { features: 3 })]
 * const [gru, last] = [cudnnGRU({ numUnits: 4 }), lastStep()]
 * const both = [left, right].map((side) => apply(last, apply(gru, side))) // one network reads both sides
 * const model = functional(backend, [left, right], {
 *   similarity: merge('dot', both),
 *   kind: apply(dense({ units: 5 }), merge('concat', both)),
 * })
 * const side = { data: new Float32Array(6 * 2 * 3).fill(1), shape: [6, 2, 3] } // [T,B,E]
 * const { similarity, kind } = await model.predict({ left: side, right: side })
 * console.log(similarity.shape, kind.shape) // [2, 1] [2, 5]
 * ```
 */
export function functional<Outputs extends string>(
  backend: Backend,
  inputs: readonly ModelValue[],
  outputs: Readonly<Record<Outputs, ModelValue>>,
  options: FunctionalOptions = {},
): LayersModel<Outputs> {
  const action = 'build a model'
  checkIsBackend(action, backend)
  const given = checkOptions(action, options, FUNCTIONAL_OPTIONS)
  return new LayersModel(backend, planOfValues(action, inputs, outputs), given)
}

/** Calls to write, with the names that other libraries have for them. */
const OTHER_METHODS = {
  'model.fit(examples, { loss, optimizer })': 'compile train trainOnBatch train_on_batch',
  [OF_INPUTS]: 'run predictOnBatch predict_on_batch',
  'model.predict(inputs), which drops nothing; model.fit trains': 'eval',
  'model.variables': 'parameters getWeights get_weights named_parameters',
  'model.save(path), and loadModel(backend, path)':
    'state_dict saveWeights save_weights load load_state_dict loadWeights',
  'openBackend(name), and sequential(backend, layers)': 'to cuda cpu',
  'sequential(backend, layers) with all layers': 'add',
  'model.stream(), whose steps carry the states': 'step stepSync resetStates reset_states',
  "openBackend('cpu', { weights: 'int8' })": 'quantize half',
}

/** A tensor for each input; a literal list gives a tuple of its length. */
type PredictedRows<Inputs extends readonly LayerExample['input'][]> = {
  -readonly [Row in keyof Inputs]: Tensor<FloatArray>
}

/**
 * The result of {@link sequential}: a layer made of layers, with the methods of a whole model.
 *
 * @example
 * ```ts
 * import { cudnnGRU, dense, embedding, lastStep, openBackend, sequential, type LayersModel } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const layers = [embedding({ size: 5, units: 4 }), cudnnGRU({ numUnits: 8 }), lastStep(), dense({ units: 2 })]
 * const model: LayersModel = sequential(backend, layers, { seed: 1 })
 * const data = [
 *   { input: [1, 2, 3], label: 0 },
 *   { input: [4, 3], label: 1 },
 * ]
 * await model.fit(data, { loss: 'softmax_cross_entropy', batchSize: 2, epochs: 30, learningRate: 0.05 })
 * console.log((await model.evaluate(data, { batchSize: 2 })).accuracy) // 1
 * ```
 */
export class LayersModel<Outputs extends string = string> extends GraphLayer implements WholeModel {
  readonly seed: number
  /** The loss it was trained with. */
  loss: Loss | undefined

  /** @param plan layers one behind the other, or applied to named values */
  constructor(
    backend: Backend,
    plan: GraphPlan,
    { seed = 0 }: Pick<SequentialOptions, 'seed'> = {},
    file?: FileVariables,
  ) {
    const graph = new ModelGraph(plan, new LayerBuild(backend, seed, file))
    const definition: LayerDefinition = {
      kind: graph.isChain ? 'sequential' : 'functional',
      name: undefined,
      config: { seed, ...savedPlan(plan, graph.isChain) },
      build: (_, build) => new LayersModel(build.backend, plan, { seed }),
    }
    super(backend, { definition, name: 'model', input: graph.inputs[0].signal }, graph)
    this.seed = seed
    refuseOtherMethods(LayersModel.prototype, 'a model', OTHER_METHODS)
  }

  get layers(): readonly Layer[] {
    return this.graph.layers
  }

  get executor(): Backend {
    return this.backend
  }

  /** Runs a batch; of several inputs by their names, `{ past, future }`. A model of several outputs has {@link record}. */
  override call(input: TensorLike | NamedInputs, options: LayerCallOptions = {}): Promise<LayerCallResult> {
    if (this.graph.outputs.length > 1) oneOfModel(`call ${this.name}`, 'output', this.graph.outputs)
    return super.call(input as TensorLike, options)
  }

  /** Runs a batch on a tape; of several inputs by their names. The result has `outputs` by their names, too. */
  override record(
    t: GradientTape,
    input: LayerInput | NamedInputs,
    options: LayerRecordOptions = {},
  ): Promise<ModelForwarded<Outputs>> {
    return super.record(t, input as LayerInput, options) as Promise<ModelForwarded<Outputs>>
  }

  protected override checkedInput(
    action: string,
    input: LayerInput | NamedInputs,
    lengths: SequenceLengths,
  ): CheckedInput {
    const { inputs } = this.graph
    if (inputs.length === 1 && !isNamed(input)) return super.checkedInput(action, input as LayerInput, lengths)
    const x = namedInputs(action, inputs, input, lengths, this.backend.dtype)
    return { x: x as unknown as LayerInput, lengths: null }
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
   * one for each, in their order; of named inputs, tensors or lists, a tensor for each output by its name.
   *
   * @throws RangeError `ERR_SHAPE`, `ERR_EXAMPLE`, `ERR_EMPTY_BATCH`, `ERR_SEQUENCE_LENGTHS`, `ERR_ID_OUT_OF_RANGE`
   */
  predict(input: TensorLike, options?: PredictOptions): Promise<Tensor<FloatArray>>
  predict(inputs: NamedInputs | NamedRows, options?: PredictOptions): Promise<Record<Outputs, Tensor<FloatArray>>>
  predict<const Inputs extends readonly LayerExample['input'][]>(
    inputs: Inputs,
    options?: PredictOptions,
  ): Promise<PredictedRows<Inputs>>
  predict(
    input: TensorLike | readonly LayerExample['input'][] | NamedInputs | NamedRows,
    options: PredictOptions = {},
  ): Promise<Tensor<FloatArray> | Tensor<FloatArray>[] | Record<string, Tensor<FloatArray>>> {
    if (isNamed(input)) return predictNamed(this, input, options)
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
    this.#checkOne('make a batch')
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

  /**
   * Opens a pool of streams that come and go: each round steps all of them that have input as one batch. A frame is [I], or
   * T of them [T,I]; a class id is one number [1] of the executor's type. The results have the output's columns.
   *
   * @throws RangeError as {@link stream}, `ERR_MODEL_INPUTS` for a model of several inputs or outputs, `ERR_INVALID_OPTION`; TypeError
   *   `ERR_UNKNOWN_OPTION`
   * @example
   * ```ts
   * import { cudnnGRU, dense, openBackend, sequential } from '@cudnn-rnn/rnn'
   *
   * const backend = await openBackend('reference')
   * const model = sequential(backend, [cudnnGRU({ numUnits: 4, inputSize: 3 }), dense({ units: 2 })], { seed: 1 })
   * const pool = model.streamPool({ maxStreams: 100 })
   * const users = [pool.open(), pool.open()]
   * const results = await Promise.all(users.map((user) => user.step({ data: Float32Array.of(1, 2, 3), shape: [3] })))
   * console.log(results.map(({ shape }) => shape), pool.stats().rounds) // [[2], [2]] 1
   * pool.dispose()
   * ```
   */
  streamPool(options: StreamPoolOptions = {}): StreamPool<unknown> {
    this.#checkOne('open a pool of streams')
    return openModelStreamPool(this, options)
  }

  /** Throws RangeError `ERR_MODEL_INPUTS` unless the model has one input and one output. */
  #checkOne(action: string): void {
    const { inputs, outputs } = this.graph
    if (inputs.length > 1) oneOfModel(action, 'input', inputs)
    if (outputs.length > 1) oneOfModel(action, 'output', outputs)
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
   * @throws TypeError `ERR_INVALID_ARGUMENT`; RangeError `ERR_INVALID_OPTION` for a path with a NUL, or with the extension of another
   *   library's files; CheckpointError
   */
  async save(path: string, options: SaveModelOptions = {}): Promise<void> {
    checkSavePath(path)
    const given = checkOptions('save a model', options, SAVE_OPTIONS)
    await saveModel(this, path, given)
  }

  /**
   * The model as the bytes of a `.keras` or an ONNX file that compute the same.
   *
   * @throws RangeError `ERR_NO_EXPORT`, naming a layer that the format has no counterpart of, `ERR_INVALID_OPTION`
   */
  async export(format: 'keras' | 'onnx'): Promise<Uint8Array> {
    // Loaded on first use: a page that trains does not carry the table of all layers.
    if (format === 'keras') return (await import('../keras/export_keras.js')).encodeKeras(this)
    if (format === 'onnx') return (await import('../onnx/export_onnx.js')).encodeOnnx(this)
    throw invalidOption('export', 'format', 'keras or onnx', format)
  }
}

/** The input of a chain. */
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
