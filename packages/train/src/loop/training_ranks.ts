import type { World } from '../data/shard_stage.js'
import type { Position } from '../data/source.js'
import type { Trainable } from '../optimizers/trainable.js'
import type { BatchRows } from './batch_rows.js'
import type { CheckRecord, RestoredRecord, TrainingRecord, TrainingSaver } from './training_saver.js'
import type { TrainingStep, TrainingStepOptions } from './training_step.js'

/** Seconds of a rank in the steps of a training. */
export interface RankSeconds {
  /** Number of steps. */
  readonly steps: number
  /** In forward and backward passes. */
  readonly computing: number
  /** In the all-reduce of the gradients: the communication, and the wait for slower ranks. */
  readonly reducing: number
}

/** Everything that a checkpoint holds. */
export interface TrainedTensors {
  /** The same on all ranks. */
  readonly shared: readonly Trainable[]
  readonly rows: BatchRows
}

/** The `state.save` of all ranks, as a checkpoint has it. */
type SavedState = Pick<TrainingRecord, 'extra' | 'ranks'>

/**
 * The ranks of a training, as its loop sees them. The loop is the same for one process ({@link SoleRank}) and for several
 * ({@link SeveralRanks}); all ranks call the same methods in the same order.
 */
export interface TrainingRanks extends Disposable {
  /** A rank requests the end of the training: one process immediately, several after the step of the request. */
  readonly isStopping: boolean
  /** Waits for `work`; in one process not long after an abort, as `abortable` does. Ranks end together, after a step. */
  wait<Result>(work: PromiseLike<Result>): PromiseLike<Result>
  /** Runs `work` here. Its error is thrown at the next call that all ranks make; then the result is undefined. */
  attempt<Result>(work: () => Promise<Result> | Result): Promise<Result | undefined>
  /** Like {@link TrainingRanks.attempt}, on the first rank alone. */
  attemptFirst(work: () => Promise<unknown> | unknown): Promise<void>
  /** Takes the lock of the first rank's saver. */
  lock(saver: TrainingSaver | undefined): Promise<AsyncDisposable | undefined>
  /** Refuses ranks of which `description` differs. */
  compare(description: () => Readonly<Record<string, unknown>>): Promise<void>
  /** Restores the newest checkpoint, if `check` accepts its record; every rank has record and tensors then. */
  restore(
    saver: TrainingSaver | undefined,
    tensors: TrainedTensors,
    check: CheckRecord,
  ): Promise<RestoredRecord | undefined>
  /** Saves on the first rank, with the rows of all; all wait for it. */
  save(saver: TrainingSaver, kind: 'latest' | 'best', tensors: TrainedTensors, record: TrainingRecord): Promise<void>
  /** The saved state of this rank, and the rank that saved it. */
  ownState(record: TrainingRecord): { readonly saved: Position; readonly by: World }
  /** The state of every rank, for a checkpoint. */
  gatherState(own: () => Promise<Position>): Promise<SavedState>
  /** Records from now on a signal of any rank that came before the first step. */
  shareSignal(): Promise<void>
  /**
   * One update over the batches of all ranks.
   *
   * @param batches none at the end of the data
   * @param before the step before this one, if its outcome was not read
   * @returns undefined at the end of the data
   */
  step<Batch>(
    options: TrainingStepOptions<Batch>,
    batches: readonly Batch[],
    learningRate: number,
    before: TrainingStep | undefined,
  ): Promise<TrainingStep | undefined>
  /** The metrics of `evaluate`, the same on all ranks. */
  evaluate(
    evaluate: (() => Promise<Readonly<Record<string, number>>>) | undefined,
  ): Promise<Readonly<Record<string, number>> | undefined>
  /** Waits until all ranks have ended without a failure. @returns undefined for one process */
  finish(): Promise<readonly RankSeconds[] | undefined>
}
