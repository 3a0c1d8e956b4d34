import {
  checkOptions,
  codedRangeError,
  either,
  FLAG,
  FUNCTION,
  fields,
  kind,
  listOf,
  methods,
  NUMBER,
  OBJECT,
  type OptionsOf,
  oneOf,
  optional,
  optionFields,
  type Rule,
  SIGNAL,
} from '@cudnn-rnn/canonical/rules'
import { checkHyperparameter, hyperparameter } from '@cudnn-rnn/ops/executor'
import type { Dataset } from '../data/dataset.js'
import type { World } from '../data/shard_stage.js'
import type { Position } from '../data/source.js'
import type { Schedule } from '../optimizers/learning_rate.js'
import type { Optimizer } from '../optimizers/optimizer.js'
import { TRAINABLES } from '../optimizers/optimizer_spec.js'
import type { Trainable } from '../optimizers/trainable.js'
import { CLIPPING_OPTIONS, type ClippingOptions } from './clip_gradients.js'
import type { Communicator } from './communicator.js'
import { EARLY_STOPPING, type EarlyStoppingOptions } from './early_stopping.js'
import type { BatchResult } from './gradient_accumulator.js'
import type { SkippedCheckpoint, TrainingSaver } from './training_saver.js'

/** The logged values of one step. */
export interface StepReport {
  /** Counted from 1. */
  readonly step: number
  /** Mean over the rows of the step; see {@link BatchResult.weight}. */
  readonly loss: number
  readonly learningRate: number
  /** Global norm before clipping. */
  readonly gradientNorm: number
  /** True when the gradients were not finite: nothing was updated. */
  readonly skipped: boolean
  /** Wall time of forward, backward and update: the only value that differs between equal runs. */
  readonly seconds: number
  /** Result of `evaluate`, at the steps where it ran. */
  readonly metrics?: Readonly<Record<string, number>>
  /** At the first step after a resume that passed over damaged checkpoints. */
  readonly resumed?: ResumedTraining
}

/** Start of a resumed run. */
export type ResumedTraining = {
  /** The last step of the checkpoint that was restored. */
  readonly step: number
  /** Newer checkpoints that are damaged or lack a file. */
  readonly skipped: readonly SkippedCheckpoint[]
}

// No step is equal to a fraction: an evaluation or a save at one would be left out.
const COUNT = hyperparameter({ minimum: 0, isInteger: true })
const STEPS = hyperparameter({ minimum: 1, isInteger: true })
const EVERY: Rule<number | undefined> = optional({
  words: STEPS.words,
  find: (value, path) => (value === Number.POSITIVE_INFINITY ? undefined : STEPS.find(value, path)),
})

const STATE_OPTIONS = {
  /** Tensors that are saved and restored beside the variables. */
  tensors: optional<readonly Trainable[]>(TRAINABLES),
  /**
   * For each of `tensors`, the axis that has the rows of a batch. Over ranks each then has its rank's rows only, and a
   * checkpoint all rows. Default: all ranks have the same tensors.
   */
  batchAxes: optional(listOf(NUMBER)),
  /** JSON to save, called at every checkpoint. */
  save: optional<() => Position | Promise<Position>>(FUNCTION),
  /**
   * @param by the rank whose `save` returned `saved`, and the number of ranks then. Another rank than this one's if a
   *   training continues over another number of ranks: a dropout generator should be seeded again.
   */
  restore: optional<(saved: Position, by: World) => void | Promise<void>>(FUNCTION),
}

/** Further state that a training keeps when it resumes. */
interface CarriedState extends OptionsOf<typeof STATE_OPTIONS> {}

const OPTIONS = {
  ...CLIPPING_OPTIONS,
  /** Updates the variables; it is not disposed. */
  optimizer: kind('an optimizer such as new Adam(…)', isOptimizer),
  /** A number is a constant rate. */
  learningRate: kind('a number or a schedule such as cosineRate(…)', isRate),
  /** Steps of the whole run, resumed ones included. Training also ends with the data. */
  maxSteps: COUNT,
  /** Batches whose gradients are averaged into one update, by their weights; default 1. */
  accumulate: optional(STEPS),
  /** Steps skipped in a row for gradients that are not finite, until training stops; default 10. */
  maxSkipped: optional(COUNT),
  /** Metrics by their names, at the steps of `evaluateEvery`. NaN and infinities are reported, and never the best. */
  evaluate: optional<() => Promise<Readonly<Record<string, number>>>>(FUNCTION),
  /** Evaluate and save after every this many steps, and at the end. Default: only at the end. */
  evaluateEvery: EVERY,
  /** Save after every this many steps as well. Default: save only when `evaluateEvery` evaluates. */
  saveEvery: EVERY,
  /** Watches a metric: the best is saved apart, and patience may end the training. */
  earlyStopping: optional<EarlyStoppingOptions>(EARLY_STOPPING),
  /** Saves the training and resumes from its newest checkpoint. Default: nothing is saved. */
  saver: optional<TrainingSaver>(fields({ save: FUNCTION, restore: FUNCTION, lock: optional(FUNCTION) })),
  /**
   * Trains over its ranks: each takes its share of every batch (`Dataset.shard`), and the result is as in one process with
   * the whole batches, to rounding. All ranks call `fit` with the same options and equal models. The first restores, saves,
   * and calls `onStart` and `onStep`; `evaluate` runs on all, and the metrics of the first count ({@link weightedMeans}
   * averages shares' metrics). Variables and `state.tensors` begin with the values of the first.
   */
  communicator: optional<Communicator>(
    fields(
      { rank: NUMBER, size: NUMBER, allReduce: FUNCTION, allGather: FUNCTION, broadcast: FUNCTION },
      'a communicator',
    ),
  ),
  /**
   * More that all ranks must share, each compared under its name before the first step: layers, a loss, another version. JSON.
   * With a saver, a run that continues must share them, too.
   */
  sharedSettings: optional<Readonly<Record<string, unknown>>>(OBJECT),
  /**
   * The form in which gradients travel between the ranks; default the executor's type. 'bfloat16' halves the bytes; every mean
   * gradient g of n ranks then has an error of at most 2⁻⁷·Σ|wᵣ·gᵣ| over MPI, and n·2⁻⁸·Σ|wᵣ·gᵣ| over NCCL, with the shares
   * wᵣ of the ranks in the batch. Loss, weights and variables are not rounded, and all ranks make the same update.
   */
  wire: optional(oneOf(['bfloat16'])),
  /** More that must be carried over a resume: tensors (a carried state), and JSON (dropout generators), of each rank its own. */
  state: optional<CarriedState>(optionFields(STATE_OPTIONS)),
  /**
   * Called once with the step after which training starts, 0 for a new run; open logs here.
   *
   * @param resumed undefined for a new run.
   */
  onStart: optional<(step: number, resumed?: ResumedTraining) => void | Promise<void>>(FUNCTION),
  /**
   * Called after every step, before it is saved; an error ends the training. On executors with `Backend.steps` the next step
   * is queued by then, unless this one is evaluated or saved.
   */
  onStep: optional<(report: StepReport) => void | Promise<void>>(FUNCTION),
  /**
   * Prints step, loss, metrics with the best of the watched one, and the time left: one line that is drawn again if standard
   * output is a terminal, otherwise a line every five seconds and one at the end. A function receives these lines. If there are
   * several ranks, the first alone shows them. Default: true if standard output is a terminal and `onStep` is absent, otherwise
   * false.
   */
  progress: optional<boolean | ((line: string) => void)>(either(FLAG, FUNCTION)),
  /**
   * Ends the training, saved. Passes and saves in progress are completed; data, `evaluate`, `onStart` and `onStep` that do not
   * answer are abandoned, and an evaluation is made up for when the run continues. Ranks end together, after a step.
   */
  signal: optional(SIGNAL),
}
const BATCH_OPTIONS = {
  data: methods('a Dataset: Dataset.fromArray(…) makes one', 'iterate'),
  batchGradients: FUNCTION,
}

/** Options of {@link fit}; `Batch` is the type of the elements of `data`. */
export interface FitOptions<Batch> extends ClippingOptions, OptionsOf<typeof OPTIONS> {
  /** Read once, from the beginning or from the position of the checkpoint. */
  readonly data: Dataset<Batch>
  /** Runs forward and backward. */
  readonly batchGradients: (batch: Batch) => Promise<BatchResult>
}

/** A function has a method `apply` too. */
function isOptimizer(value: unknown): value is Optimizer {
  const { apply, variables, backend } = (value ?? {}) as Partial<Optimizer>
  return typeof apply === 'function' && Array.isArray(variables) && typeof backend?.ops === 'object'
}

function isRate(value: unknown): value is number | Schedule {
  return typeof value === 'number' || typeof value === 'function'
}

/**
 * Refuses options that no training can go by, before anything is restored.
 *
 * @returns the options as they were read here, once
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_HYPERPARAMETER`, `ERR_INVALID_OPTION`
 */
export function checkFitOptions<Batch>(options: FitOptions<Batch>): FitOptions<Batch> {
  const given = checkOptions('fit', options, { ...OPTIONS, ...BATCH_OPTIONS })
  const { learningRate } = given
  if (typeof learningRate === 'number') checkHyperparameter('fit', 'learningRate', learningRate, { minimum: 0 })
  if (given.earlyStopping !== undefined && given.evaluate === undefined) {
    const message =
      'Cannot fit as earlyStopping must have a metric to watch: give evaluate, or validation to the fit of a model'
    throw codedRangeError('ERR_INVALID_OPTION', message, { option: 'earlyStopping', value: given.earlyStopping })
  }
  return given
}
