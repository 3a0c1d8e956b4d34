import { type AbortSignalLike, abortable } from '@cudnn-rnn/canonical/rules'
import type { Position } from '../data/source.js'
import type { TrainedTensors, TrainingRanks } from './training_ranks.js'
import type { CheckRecord, RestoredRecord, TrainingRecord, TrainingSaver } from './training_saver.js'
import { type TrainingStep, type TrainingStepOptions, trainingStep } from './training_step.js'

/** The ranks of a training in one process: every call runs its work, and its errors are thrown immediately. */
export class SoleRank implements TrainingRanks {
  readonly #signal: AbortSignalLike | undefined

  constructor(signal: AbortSignalLike | undefined) {
    this.#signal = signal
  }

  get isStopping(): boolean {
    return this.#signal?.aborted === true
  }

  wait<Result>(work: PromiseLike<Result>): Promise<Result> {
    return abortable(this.#signal, work)
  }

  async attempt<Result>(work: () => Promise<Result> | Result): Promise<Result> {
    return await work()
  }

  async attemptFirst(work: () => Promise<unknown> | unknown): Promise<void> {
    await work()
  }

  async lock(saver: TrainingSaver | undefined): Promise<AsyncDisposable | undefined> {
    return await saver?.lock?.()
  }

  async compare(): Promise<void> {}

  async restore(
    saver: TrainingSaver | undefined,
    { shared, rows }: TrainedTensors,
    check: CheckRecord,
  ): Promise<RestoredRecord | undefined> {
    return await saver?.restore([...shared, ...rows.tensors], 'latest', check)
  }

  async save(
    saver: TrainingSaver,
    kind: 'latest' | 'best',
    { shared, rows }: TrainedTensors,
    record: TrainingRecord,
  ): Promise<void> {
    await saver.save(kind, [...shared, ...rows.tensors], record)
  }

  /** Returns the state of rank 0 if the checkpoint was written by several ranks. */
  ownState({ extra, ranks }: TrainingRecord) {
    if (ranks === undefined) return { saved: extra, by: { rank: 0, size: 1 } }
    const [saved = null] = extra as readonly Position[]
    return { saved, by: { rank: 0, size: ranks } }
  }

  async gatherState(own: () => Promise<Position>) {
    return { extra: await own() }
  }

  async shareSignal(): Promise<void> {}

  async step<Batch>(
    options: TrainingStepOptions<Batch>,
    batches: readonly Batch[],
    learningRate: number,
    before: TrainingStep | undefined,
  ): Promise<TrainingStep | undefined> {
    return batches.length === 0 ? undefined : await trainingStep(options, batches, learningRate, before)
  }

  async evaluate(evaluate: (() => Promise<Readonly<Record<string, number>>>) | undefined) {
    return await evaluate?.()
  }

  async finish(): Promise<undefined> {}

  [Symbol.dispose](): void {}
}
