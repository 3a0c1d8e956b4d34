import { type AbortSignalLike, abortable } from '@cudnn-rnn/canonical/rules'
import type { World } from '../data/shard_stage.js'
import type { Position } from '../data/source.js'
import type { Trainable } from '../optimizers/trainable.js'
import type { BatchRows } from './batch_rows.js'
import type { CheckRecord, RestoredRecord, TrainingRecord, TrainingSaver } from './training_saver.js'
import { type TrainingStep, type TrainingStepOptions, trainingStep } from './training_step.js'

/** Seconds of a rank in the steps of a training. */
export interface RankSeconds {
  readonly steps: number
  /** In forward and backward passes. */
  readonly computing: number
  /** In the all-reduce of the gradients: the communication, and the wait for slower ranks. */
  readonly reducing: number
}

export interface TrainedTensors {
  /** The same on all ranks. */
  readonly shared: readonly Trainable[]
  readonly rows: BatchRows
}

/**
 * The ranks of a training, as its loop sees them: here of one process, in which every call runs its work, and its errors
 * are thrown immediately. {@link SeveralRanks} are a communicator's; all of them make the same calls in the same order.
 */
export class TrainingRanks implements Disposable {
  readonly #signal: AbortSignalLike | undefined

  constructor(signal: AbortSignalLike | undefined) {
    this.#signal = signal
  }

  /** A rank requests the end of the training: one process immediately, several after the step of the request. */
  get isStopping(): boolean {
    return this.#signal?.aborted === true
  }

  /** Waits for `work`; in one process not long after an abort, as `abortable` does. Ranks end together, after a step. */
  wait<Result>(work: PromiseLike<Result>): PromiseLike<Result> {
    return abortable(this.#signal, work)
  }

  /** Runs `work` here. Its error is thrown at the next call that all ranks make; then the result is undefined. */
  async attempt<Result>(work: () => Promise<Result> | Result): Promise<Result | undefined> {
    return await work()
  }

  /** Like {@link TrainingRanks.attempt}, on the first rank alone. */
  async attemptFirst(work: () => Promise<unknown> | unknown): Promise<void> {
    await work()
  }

  /** Takes the lock of the first rank's saver. */
  async lock(saver: TrainingSaver | undefined): Promise<AsyncDisposable | undefined> {
    return await saver?.lock?.()
  }

  /** Refuses ranks of which `description` differs. */
  async compare(_description: () => Readonly<Record<string, unknown>>): Promise<void> {}

  /** Restores the newest checkpoint of a kind, if `check` accepts its record; every rank has record and tensors then. */
  async restore(
    saver: TrainingSaver | undefined,
    { shared, rows }: TrainedTensors,
    check?: CheckRecord,
    kind: 'latest' | 'best' = 'latest',
  ): Promise<RestoredRecord | undefined> {
    return await saver?.restore([...shared, ...rows.tensors], kind, check)
  }

  /** Saves on the first rank, with the rows of all; all wait for it. */
  async save(
    saver: TrainingSaver,
    kind: 'latest' | 'best',
    { shared, rows }: TrainedTensors,
    record: TrainingRecord,
  ): Promise<void> {
    await saver.save(kind, [...shared, ...rows.tensors], record)
  }

  /** The saved state of this rank, and the rank that saved it: of one process the state of rank 0 if several ranks saved. */
  ownState({ extra, ranks }: TrainingRecord): { readonly saved: Position; readonly by: World } {
    if (ranks === undefined) return { saved: extra, by: { rank: 0, size: 1 } }
    const [saved = null] = extra as readonly Position[]
    return { saved, by: { rank: 0, size: ranks } }
  }

  /** The state of every rank, as a checkpoint has it. */
  async gatherState(own: () => Promise<Position>): Promise<Pick<TrainingRecord, 'extra' | 'ranks'>> {
    return { extra: await own() }
  }

  /** Records from now on a signal of any rank that came before the first step. */
  async shareSignal(): Promise<void> {}

  /**
   * One update over the batches of all ranks.
   *
   * @param batches none at the end of the data
   * @param before the step before this one, if its outcome was not read
   * @returns undefined at the end of the data
   */
  async step<Batch>(
    options: TrainingStepOptions<Batch>,
    batches: readonly Batch[],
    learningRate: number,
    before: TrainingStep | undefined,
  ): Promise<TrainingStep | undefined> {
    return batches.length === 0 ? undefined : await trainingStep(options, batches, learningRate, before)
  }

  /** The metrics of `evaluate`, the same on all ranks. */
  async evaluate(
    evaluate: (() => Promise<Readonly<Record<string, number>>>) | undefined,
  ): Promise<Readonly<Record<string, number>> | undefined> {
    return await evaluate?.()
  }

  /** Waits until all ranks have ended without a failure. @returns undefined for one process */
  async finish(): Promise<readonly RankSeconds[] | undefined> {
    return undefined
  }

  /** A communicator is the caller's. */
  [Symbol.dispose](): void {}
}
