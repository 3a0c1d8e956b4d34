import {
  abortableItems,
  checkedElsewhere,
  checkOptions,
  either,
  FLAG,
  FUNCTION,
  integerFrom,
  invalidOption,
  isAbort,
  keyOf,
  kind,
  methods,
  OBJECT,
  type OptionsOf,
  oneOf,
  optional,
  PATH,
  SIGNAL,
  where,
} from '@cudnn-rnn/canonical/rules'
import { type FileStore, isFileStore } from '@cudnn-rnn/checkpoint'
import { checkOptimizes, claimForTraining } from '@cudnn-rnn/ops/executor'
import {
  type Communicator,
  Dataset,
  type EarlyStoppingOptions,
  type FitOptions,
  type FitResult,
  fit,
  gatherResults,
  type MakeOptimizer,
  OPTIMIZERS,
  type Optimizer,
  type OptimizerName,
  type Schedule,
  type TrainingSaver,
} from '@cudnn-rnn/train'
import { CarriedStates } from '../model/carried_states.js'
import { isNamedModel } from '../model/model_inputs.js'
import { modelGradients } from '../model/model_pass.js'
import { modelNote, recurrentModels } from '../model/save_model.js'
import type { WholeModel } from '../model/whole_model.js'
import { savedLayer } from '../saved_layer.js'
import { dataOfRank } from './batch_share.js'
import { batchesOf, emptyData, isLayerData, type LayerData, rowsOfBatch } from './batches.js'
import { evaluateModel } from './evaluate_model.js'
import type { AnyBatch } from './layer_batch.js'
import { type CheckedLoss, checkLoss, isCtc, isNamedLosses, type Loss } from './losses.js'
import { MasksOfRank } from './masks_of_rank.js'
import { outputLosses } from './output_losses.js'
import { TrainingCheckpoints } from './training_checkpoints.js'

// Options that are checked elsewhere are checked by `fit` of @cudnn-rnn/train, by `checkLoss` and by those that read the data.
const COUNT = checkedElsewhere<number | undefined>()
const MAKE_OPTIMIZER = where(FUNCTION, 'a function such as (variables) => new Adam(variables)', () => true)
const OPTIONS = {
  /** Compares the output of the last layer with the labels. */
  loss: checkedElsewhere<Loss>(),
  /**
   * Default `adam`. `momentum` is SGD with momentum 0.9, `adamw` Adam with a weight decay of 0.01. An optimizer of your own, such as
   * `new Adam(model.variables)`, keeps its moments from call to call and is not disposed.
   */
  optimizer: optional<OptimizerName | MakeOptimizer | Optimizer>(either(keyOf(OPTIMIZERS), MAKE_OPTIMIZER, OBJECT)),
  /** Default 0.001. */
  learningRate: checkedElsewhere<number | Schedule | undefined>(),
  /** Passes over the data. Default 1. */
  epochs: optional(integerFrom(0)),
  /** Steps of the whole run, in place of `epochs`; the data are repeated as often as needed. */
  maxSteps: COUNT,
  /**
   * Rows of a batch, if the data are examples; arrays of them are shuffled. Default 32 for an array of examples; a Dataset of
   * examples needs it.
   */
  batchSize: COUNT,
  /** False keeps the order of an array of examples. Default true. */
  shuffle: optional(FLAG),
  /** Evaluated after every epoch (or `evaluateEvery` steps); the metrics go to `onStep` and to `earlyStopping`. */
  validation: optional(
    kind('an array or a Dataset of examples or batches (a function of your own metrics is evaluate)', isLayerData),
  ),
  /** Your own metrics, in place of `validation`. */
  evaluate: optional<() => Promise<Readonly<Record<string, number>>>>(FUNCTION),
  /** Steps between evaluations. Default: an epoch. */
  evaluateEvery: COUNT,
  /** `metric` is `loss` by default. */
  earlyStopping: optional<Omit<EarlyStoppingOptions, 'metric'> & { readonly metric?: string | undefined }>(OBJECT),
  /**
   * A directory for TensorFlow checkpoints, a store such as one of a browser, or a saver: a run that has some continues
   * from the newest.
   */
  checkpoints: optional<string | FileStore | TrainingSaver>(
    either(PATH, kind('a store or a saver', isFileStore), methods('a saver', 'save', 'restore')),
  ),
  /**
   * Trains over its ranks, each on its rows of every batch, with the numbers of one process: data, batch sizes and options
   * are one process's. Every rank builds the same model; layers, loss and data of the ranks are compared. Variables begin with
   * the values of the first rank, whose seed also shuffles. The masks of dropout differ by rank. A training that continues over
   * the same number of ranks draws the masks of an uninterrupted one, over another number ranks without a saved state begin a
   * new stream of masks.
   */
  communicator: checkedElsewhere<Communicator | undefined>(),
  /** The form in which gradients travel between its ranks; see `fit`. */
  wire: optional(oneOf(['bfloat16'])),
  /** Ends the training after the step in progress, saved; data and an evaluation in progress are abandoned. */
  signal: optional(SIGNAL),
}
/** Options of `fit` of @cudnn-rnn/train, which checks them. */
const FIT_OPTIONS = {
  ...{ accumulate: COUNT, saveEvery: COUNT, clipValue: COUNT, clipNorm: COUNT },
  onStart: checkedElsewhere<FitOptions<AnyBatch>['onStart']>(),
  onStep: checkedElsewhere<FitOptions<AnyBatch>['onStep']>(),
  progress: checkedElsewhere<FitOptions<AnyBatch>['progress']>(),
}

/** Options of the `fit` of a model. */
export interface ModelFitOptions
  extends OptionsOf<typeof OPTIONS>,
    Pick<FitOptions<AnyBatch>, keyof typeof FIT_OPTIONS> {}

/** `LayersModel.fit` */
export async function fitModel(model: WholeModel, data: LayerData, options: ModelFitOptions): Promise<FitResult> {
  const action = 'fit'
  const given = checkOptions(action, options, { ...OPTIONS, ...FIT_OPTIONS })
  using _claim = claimForTraining([model])
  const loss = checkLoss(action, given.loss, model)
  const { learningRate = 0.001, checkpoints, communicator, shuffle = true } = given
  const batchSize = rowsOfBatch(data, given.batchSize)
  for (const own of isNamedLosses(loss) ? Object.values(loss) : [loss]) {
    if (!isCtc(own) || own.reduction !== 'sum' || isSole(communicator)) continue
    throw invalid('loss', 'a mean over rows to train over several ranks', own.reduction)
  }
  const { dtype } = model.executor
  const losses = outputLosses(model.graph, dtype, loss)
  const shape = { graph: model.graph, dtype, losses }
  const isShuffled = shuffle && batchSize !== undefined && Array.isArray(data)
  const shuffleSeed = isShuffled ? await seedOfFirst(model.seed, communicator) : undefined
  const epoch = dataOfRank(batchesOf(data, { batchSize, shuffleSeed }, shape), shape, communicator)
  const { signal } = given
  const batches = { [Symbol.asyncIterator]: () => abortableItems(signal, epoch) }
  let steps: Awaited<ReturnType<typeof stepsOf>> = { all: Number.MAX_SAFE_INTEGER, evaluateEvery: undefined }
  let first: AnyBatch | undefined
  try {
    steps = await stepsOf(batches, data, { ...given, batchSize })
    if (batchSize === undefined) first = await firstOf(batches)
  } catch (error) {
    // Then `fit` ends before its first step, and returns where the run is.
    if (!isAbort(signal, error)) throw error
  }
  const { optimizer: named = 'adam' } = given
  const isCallers = typeof named === 'object'
  const optimizer = isCallers ? named : (typeof named === 'function' ? named : OPTIMIZERS[named])(model.variables)
  checkOptimizes(action, optimizer, model.variables, isCallers)
  using _made = isCallers ? undefined : optimizer
  const { earlyStopping, onStart, onStep, progress, saveEvery, accumulate, clipNorm, clipValue, wire } = given
  const saver = saverOf(model, checkpoints, loss)
  using carried = first && CarriedStates.for(model, first)
  const masks = new MasksOfRank(model, communicator)
  const before = model.loss
  model.loss = loss
  try {
    return await fit<AnyBatch>({
      data: epoch.repeat(),
      batchGradients: (batch) => modelGradients(model, batch, losses, carried),
      optimizer,
      learningRate,
      maxSteps: steps.all,
      state: {
        ...(carried && { tensors: carried.tensors, batchAxes: carried.batchAxes }),
        save: () => masks.save(),
        restore: (state, by) => masks.restore(state, by),
      },
      evaluate: evaluationOf(model, given, loss),
      sharedSettings: sharedSettings(model, loss, { ...given, batchSize }, shuffleSeed),
      ...(steps.evaluateEvery !== undefined && { evaluateEvery: steps.evaluateEvery }),
      ...(earlyStopping !== undefined && {
        earlyStopping: { ...earlyStopping, metric: earlyStopping.metric ?? 'loss' },
      }),
      ...{ saver, communicator, onStart, onStep, progress, signal, saveEvery, accumulate, clipNorm, clipValue, wire },
    })
  } catch (error) {
    model.loss = before
    throw error
  }
}

/** The settings of a model that ranks, and a run and its checkpoints, must share, one for each layer, so that a difference is short. */
function sharedSettings(
  { layers, graph }: WholeModel,
  loss: CheckedLoss,
  { validation, batchSize }: ModelFitOptions,
  shuffleSeed: number | undefined,
): Readonly<Record<string, unknown>> {
  const data = Array.isArray(validation) ? Dataset.fromArray<unknown>(validation) : (validation as Dataset<unknown>)
  return {
    loss: describedLoss(loss),
    'number of layers': layers.length,
    batchSize: batchSize ?? 'of the data',
    'seed of the order': shuffleSeed ?? 'none',
    ...(isNamedModel(graph) && { 'inputs and outputs': [graph.inputs, graph.outputs] }),
    ...Object.fromEntries(layers.map(({ definition }, n) => [`layer ${n + 1}`, savedLayer(definition)])),
    validation: data?.describe?.(),
  }
}

function describedLoss(loss: CheckedLoss): unknown {
  if (isNamedLosses(loss)) return Object.entries(loss).map(([name, own]) => [name, describedLoss(own)])
  return typeof loss === 'function' ? 'a function' : loss
}

/** Ranks must end together, after a step. */
function isSole(communicator: Communicator | undefined): boolean {
  return (communicator?.size ?? 1) === 1
}

/** All ranks must read the data in one order. */
async function seedOfFirst(seed: number, communicator: Communicator | undefined): Promise<number> {
  if (communicator === undefined) return seed
  const [first] = await gatherResults(communicator, () => seed)
  return first
}

/** Steps of the whole run, and between evaluations. */
async function stepsOf(
  epoch: AsyncIterable<AnyBatch>,
  data: LayerData,
  { epochs = 1, maxSteps, batchSize, accumulate = 1, evaluateEvery, validation, evaluate }: ModelFitOptions,
) {
  const isEvaluated = validation !== undefined || evaluate !== undefined
  const isCounted = maxSteps === undefined || (evaluateEvery === undefined && isEvaluated)
  if (!isCounted) return { all: maxSteps, evaluateEvery }
  let batches = 0
  if (Array.isArray(data)) batches = Math.ceil(data.length / (batchSize ?? 1))
  else for await (const _ of epoch) batches++
  if (batches === 0) throw emptyData()
  const perEpoch = Math.ceil(batches / accumulate)
  return { all: maxSteps ?? Math.ceil((epochs * batches) / accumulate), evaluateEvery: evaluateEvery ?? perEpoch }
}

async function firstOf<Item>(items: AsyncIterable<Item>): Promise<Item | undefined> {
  for await (const first of items) return first
  return undefined
}

function evaluationOf(
  model: WholeModel,
  { validation, evaluate, batchSize, communicator, signal }: ModelFitOptions,
  loss: CheckedLoss,
): ModelFitOptions['evaluate'] {
  if (evaluate === undefined || validation === undefined) {
    return validation === undefined
      ? evaluate
      : () =>
          evaluateModel(model, validation, {
            loss,
            batchSize,
            communicator,
            signal: isSole(communicator) ? signal : undefined,
          })
  }
  throw invalid('evaluate', 'absent where validation is given', evaluate)
}

function saverOf(
  model: WholeModel,
  checkpoints: string | FileStore | TrainingSaver | undefined,
  loss: CheckedLoss,
): TrainingSaver | undefined {
  if (typeof checkpoints !== 'string' && !isFileStore(checkpoints)) return checkpoints
  return new TrainingCheckpoints(model.executor, checkpoints, {
    models: recurrentModels(model),
    notes: modelNote(model, loss),
  })
}

function invalid(option: string, rule: string, value: unknown) {
  return invalidOption('fit', option, rule, value)
}
