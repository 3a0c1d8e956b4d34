import {
  abandonable,
  checkArguments,
  codedRangeError,
  isAbort,
  NUMBER,
  nextTurn,
  recordOf,
  required,
} from '@cudnn-rnn/canonical/rules'
import type { DatasetIterator } from '../data/dataset.js'
import type { Position } from '../data/source.js'
import { constantRate, type Schedule } from '../optimizers/learning_rate.js'
import { watchBest } from './early_stopping.js'
import type { FitOptions, ResumedTraining, StepReport } from './fit_options.js'
import { NonFiniteError } from './non_finite_error.js'
import { outputOf, ProgressLine } from './progress_line.js'
import { checkRunSettings, runSettings, trainingDescription } from './training_description.js'
import type { RankSeconds, TrainedTensors, TrainingRanks } from './training_ranks.js'
import type { RestoredRecord, SkippedCheckpoint, TrainingRecord } from './training_saver.js'
import type { TrainingStep } from './training_step.js'

/** Some steps of a training, together. */
type HistoryEntry = {
  /** The last of them. */
  readonly step: number
  /** Mean over those that updated; NaN if none did. */
  readonly loss: number
  /** Steps among them that updated nothing, as their gradients were not finite. */
  readonly skipped: number
  /** Result of `evaluate` after the last. */
  readonly metrics?: Readonly<Record<string, number>>
}

export interface FitResult {
  readonly step: number
  readonly ending: 'finished' | 'out of data' | 'stopped early' | 'aborted'
  readonly best: TrainingRecord['best']
  /** The steps of this call, an entry for every `evaluateEvery` of them and one for the rest. */
  readonly history: readonly HistoryEntry[]
  /** Checkpoints that the resume skipped; absent if none. */
  readonly skipped?: readonly SkippedCheckpoint[]
  /** Seconds of each rank in the steps of this call; absent for one process. */
  readonly ranks?: readonly RankSeconds[]
}

interface QueuedStep {
  readonly number: number
  readonly work: TrainingStep
  readonly learningRate: number
  /** Milliseconds of `performance.now()`. */
  readonly began: number
}

/** One call of `fit`: its steps, and the evaluations, reports and saves between them. */
export class TrainingLoop<Batch> {
  readonly #options: FitOptions<Batch>
  readonly #ranks: TrainingRanks
  readonly #settings: TrainingRecord['settings']
  readonly #rateOf: Schedule
  readonly #tensors: TrainedTensors
  readonly #skipped: readonly SkippedCheckpoint[]
  /** Undefined if this rank failed to open its data, which the first call of all ranks throws. */
  #batches: DatasetIterator<Batch> | undefined
  #step: number
  #best: TrainingRecord['best']
  #skippedInARow: number
  #savedAt: number
  #ending: FitResult['ending'] | undefined
  /** Until the first report. */
  #resumed: ResumedTraining | undefined
  /** The step that was queued last, until its outcome is read. */
  #queued: QueuedStep | undefined
  #reportedAt = 0
  /** Position of the data, after the batches of the newest step. */
  #position: TrainingRecord['position']
  /** A step whose evaluation was aborted: it is reported, and saved as evaluated, after it was evaluated. */
  #unevaluated: StepReport | undefined
  readonly #history: HistoryEntry[] = []
  readonly #progress: ProgressLine | undefined
  /** The steps since the last entry of the history. */
  #recent = { losses: 0, updates: 0, skipped: 0 }

  private constructor(
    options: FitOptions<Batch>,
    ranks: TrainingRanks,
    restored: RestoredRecord | undefined,
    settings: TrainingRecord['settings'],
  ) {
    const { learningRate, progress, onStep, communicator } = options
    const isFirst = (communicator?.rank ?? 0) === 0
    const output = isFirst ? outputOf(progress, onStep !== undefined) : undefined
    this.#progress = output && new ProgressLine(output)
    this.#options = options
    this.#ranks = ranks
    this.#settings = settings
    this.#rateOf = typeof learningRate === 'number' ? constantRate(learningRate) : learningRate
    this.#tensors = tensorsOf(options)
    const { step, best, skippedInARow } = restored ?? { step: 0, best: null, skippedInARow: 0 }
    this.#step = step
    this.#best = best
    this.#skippedInARow = skippedInARow
    this.#savedAt = step
    this.#position = restored?.position ?? null
    this.#unevaluated = restored?.unevaluated ? readReport(restored.unevaluated) : undefined
    this.#skipped = restored?.skipped ?? []
    this.#resumed = restored && { step, skipped: this.#skipped }
  }

  /** Compares the ranks, and restores the newest checkpoint of the saver if it has one. */
  static async restore<Batch>(options: FitOptions<Batch>, ranks: TrainingRanks): Promise<TrainingLoop<Batch>> {
    const { optimizer, state, saver, data } = options
    await ranks.compare(() => trainingDescription(options))
    const settings = saver && runSettings(options)
    const check = (record: TrainingRecord) => checkRunSettings(settings ?? {}, record)
    const restored = await ranks.restore(saver, tensorsOf(options), check)
    if (restored !== undefined) {
      check(restored)
      optimizer.restoreStep(restored.optimizerStep)
      const { saved, by } = ranks.ownState(restored)
      await ranks.attempt(() => state?.restore?.(saved, by))
    }
    const loop = new TrainingLoop(options, ranks, restored, settings)
    loop.#batches = await ranks.attempt(() => data.iterate(restored?.position))
    return loop
  }

  /** Trains to the end, which is saved. */
  async run(): Promise<FitResult> {
    const { maxSteps, onStart } = this.#options
    try {
      await this.#interruptible(this.#ranks.attemptFirst(() => onStart?.(this.#step, this.#resumed)))
      await this.#ranks.shareSignal()
      if (this.#unevaluated && !this.#ranks.isStopping) await this.#conclude(this.#unevaluated)
      if (this.#hasStopped) this.#ending ??= 'stopped early'
      while (this.#ending === undefined && this.#step < maxSteps) {
        await this.#advance()
        // The executor may compute on this very thread: let signals and timers in.
        await nextTurn()
      }
      return await this.#finish(this.#ending ?? 'finished')
    } finally {
      this.#progress?.stop()
      // Called after a failure: settles the count of updates, and disposes the step's results.
      await this.#queued?.work.outcome().catch(() => {})
      await abandonable(this.#options.signal, this.#batches?.return())
    }
  }

  /** Waits for `work` until the signal is aborted: that ends the training, and the result is undefined. */
  async #interruptible<Result>(work: PromiseLike<Result>): Promise<Result | undefined> {
    try {
      return await this.#ranks.wait(work)
    } catch (error) {
      if (!isAbort(this.#options.signal, error)) throw error
      this.#ending = 'aborted'
      return undefined
    }
  }

  /** Takes one step, or sets the reason why the training ends. */
  async #advance(): Promise<void> {
    if (this.#ranks.isStopping) {
      this.#ending = 'aborted'
      return
    }
    const began = performance.now()
    const batches = (await this.#ranks.attempt(() => this.#take())) ?? []
    if (this.#ending !== undefined) return
    const learningRate = this.#rateOf(this.#step)
    const before = this.#queued
    let work: TrainingStep | undefined
    try {
      work = await this.#ranks.step(this.#options, batches, learningRate, before?.work)
    } catch (error) {
      if (before) await this.#settle(before).catch(() => {})
      throw error
    }
    if (work === undefined) {
      this.#ending = 'out of data'
      return
    }
    this.#step++
    const queued = { number: this.#step, work, learningRate, began }
    this.#queued = queued
    // The device computes this step while the one before it is reported.
    if (before) await this.#settle(before)
    if (this.#mustSettle(work)) await this.#settle(queued)
  }

  get #openBatches() {
    return required(this.#batches, 'the loop opens its batches before the first step')
  }

  /** The batches of one update; fewer at the end of the data. */
  async #take(): Promise<Batch[]> {
    const { accumulate = 1 } = this.#options
    const taken: Batch[] = []
    while (taken.length < accumulate) {
      // Batches that are there already would keep signals and timers out.
      if (taken.length > 0) await nextTurn()
      const next = await this.#interruptible(this.#openBatches.next())
      if (next === undefined) return []
      if (next.done) break
      taken.push(next.value)
    }
    this.#position = this.#openBatches.position
    return taken
  }

  /** Whether the outcome of the newest step must be read before the next one begins. */
  #mustSettle(work: TrainingStep): boolean {
    const step = this.#step
    return (
      work.isKnown || this.#isEvaluatedAt(step) || this.#isSavedAt(step) || this.#skippedInARow + 1 >= this.#maxSkipped
    )
  }

  /** Waits for a step, reports it, and runs the evaluations and saves that are due after it. */
  async #settle({ number, work, learningRate, began }: QueuedStep): Promise<void> {
    if (this.#queued?.number === number) this.#queued = undefined
    const outcome = await work.outcome()
    const now = performance.now()
    const seconds = (now - Math.max(began, this.#reportedAt)) / 1000
    this.#reportedAt = now
    this.#skippedInARow = outcome.skipped ? this.#skippedInARow + 1 : 0
    await this.#conclude({ step: number, ...outcome, learningRate, seconds })
  }

  /** Evaluations, reports and saves that are due after a step. */
  async #conclude(report: StepReport): Promise<void> {
    const { step } = report
    const isEvaluated = this.#isEvaluatedAt(step)
    this.#unevaluated = isEvaluated ? report : undefined
    const { metrics, isBest } = isEvaluated ? await this.#evaluate() : { metrics: undefined, isBest: false }
    if (isEvaluated && this.#ending === 'aborted') return
    this.#unevaluated = undefined
    this.#note(report, metrics)
    await this.#report(report, metrics)
    if (isBest) await this.#save('best')
    if (isEvaluated || this.#isSavedAt(step)) {
      await this.#save('latest')
      this.#savedAt = step
    }
    if (this.#skippedInARow >= this.#maxSkipped) throw new NonFiniteError(step, this.#skippedInARow)
    if (this.#hasStopped) this.#ending ??= 'stopped early'
  }

  #note({ step, loss, skipped }: StepReport, metrics: StepReport['metrics']): void {
    if (skipped) this.#recent.skipped++
    else {
      this.#recent.losses += loss
      this.#recent.updates++
    }
    if (this.#isEvaluatedAt(step)) this.#closeEntry(step, metrics)
  }

  #closeEntry(step: number, metrics?: StepReport['metrics']): void {
    const { losses, updates, skipped } = this.#recent
    this.#recent = { losses: 0, updates: 0, skipped: 0 }
    this.#history.push({ step, loss: losses / updates, skipped, ...(metrics && { metrics }) })
  }

  async #report(
    { step, loss, learningRate, gradientNorm, skipped, seconds }: StepReport,
    metrics: StepReport['metrics'],
  ): Promise<void> {
    const resumed = this.#resumed
    this.#resumed = undefined
    const { onStep, maxSteps, earlyStopping } = this.#options
    const report: StepReport = {
      ...{ step, loss, learningRate, gradientNorm, skipped, seconds },
      ...(metrics && { metrics }),
      ...(resumed && resumed.skipped.length > 0 && { resumed }),
    }
    await this.#interruptible(
      this.#ranks.attemptFirst(() => {
        this.#progress?.update(report, { maxSteps, watched: earlyStopping?.metric, best: this.#best })
        return onStep?.(report)
      }),
    )
  }

  async #evaluate(): Promise<{ readonly metrics: StepReport['metrics']; readonly isBest: boolean }> {
    const { evaluate, earlyStopping } = this.#options
    const checked = async () => {
      const metrics = await evaluate?.()
      checkArguments('go on training', { metrics }, METRICS)
      return metrics as NonNullable<typeof metrics>
    }
    const metrics = await this.#interruptible(this.#ranks.evaluate(evaluate && checked))
    if (earlyStopping === undefined || metrics === undefined) return { metrics, isBest: false }
    const watched = watchBest(this.#best, metricOf(metrics, earlyStopping.metric), this.#step, earlyStopping)
    this.#best = watched.best
    return { metrics, isBest: watched.improved }
  }

  async #save(kind: 'latest' | 'best'): Promise<void> {
    const { saver, state, optimizer } = this.#options
    if (saver === undefined) return
    const saved = await this.#ranks.gatherState(async () => (await state?.save?.()) ?? null)
    const progress = { step: this.#step, optimizerStep: optimizer.step, position: this.#position }
    const unevaluated = this.#unevaluated && { unevaluated: reportText(this.#unevaluated) }
    const settings = this.#settings
    const record = {
      ...progress,
      best: this.#best,
      skippedInARow: this.#skippedInARow,
      ...unevaluated,
      settings,
      ...saved,
    }
    await this.#ranks.save(saver, kind, this.#tensors, record)
  }

  async #finish(ending: FitResult['ending']): Promise<FitResult> {
    if (this.#queued) await this.#settle(this.#queued)
    if (this.#savedAt !== this.#step) {
      // An interrupted run does not evaluate.
      if (ending === 'out of data') {
        const { metrics, isBest } = await this.#evaluate()
        if (metrics !== undefined) this.#closeEntry(this.#step, metrics)
        if (isBest) await this.#save('best')
      }
      await this.#save('latest')
    }
    const { earlyStopping, saver, optimizer } = this.#options
    const isAborted = this.#ending === 'aborted'
    if (earlyStopping?.restoreBestWeights && !(isAborted && this.#best === null)) {
      const variables = { shared: optimizer.variables, rows: { tensors: [], axes: [] } }
      await this.#ranks.restore(saver, variables, undefined, 'best')
    }
    const ranks = await this.#ranks.finish()
    if (this.#recent.updates + this.#recent.skipped > 0) this.#closeEntry(this.#step)
    const [history, step, skipped] = [this.#history, this.#step, this.#skipped]
    const steps = history.reduce((sum, entry) => sum + entry.skipped, 0)
    if (steps > 0 && !isAborted && history.every(({ loss }) => Number.isNaN(loss)))
      throw new NonFiniteError(step, steps)
    return {
      ...{ step, ending: isAborted ? 'aborted' : ending, best: this.#best, history },
      ...(skipped.length > 0 && { skipped }),
      ...(ranks && { ranks }),
    }
  }

  #isEvaluatedAt(step: number): boolean {
    const { evaluateEvery = Number.POSITIVE_INFINITY, maxSteps } = this.#options
    return step % evaluateEvery === 0 || step === maxSteps
  }

  #isSavedAt(step: number): boolean {
    return step % (this.#options.saveEvery ?? Number.POSITIVE_INFINITY) === 0
  }

  get #hasStopped(): boolean {
    return (this.#best?.evaluationsSince ?? 0) >= (this.#options.earlyStopping?.patience ?? Number.POSITIVE_INFINITY)
  }

  get #maxSkipped(): number {
    return this.#options.maxSkipped ?? 10
  }
}

/** What evaluate resolves to. NaN is a number: it is reported, and never the best. */
const METRICS = { metrics: recordOf(NUMBER) }

/** JSON has neither NaN nor infinity. */
function reportText(report: StepReport): Position {
  return Object.fromEntries(Object.entries(report).map(([name, value]) => [name, String(value)]))
}

function readReport(text: Position): StepReport {
  const entries = Object.entries(text as Readonly<Record<string, string>>)
  return Object.fromEntries(
    entries.map(([name, value]) => [name, name === 'skipped' ? value === 'true' : Number(value)]),
  ) as unknown as StepReport
}

function tensorsOf<Batch>({ optimizer, state }: FitOptions<Batch>): TrainedTensors {
  const { tensors = [], batchAxes } = state ?? {}
  const trained = [...optimizer.variables, ...optimizer.slots]
  if (batchAxes === undefined) return { shared: [...trained, ...tensors], rows: { tensors: [], axes: [] } }
  return { shared: trained, rows: { tensors, axes: batchAxes } }
}

function metricOf(metrics: Readonly<Record<string, number>>, name: string): number {
  const value = metrics[name]
  if (value !== undefined) return value
  throw codedRangeError(
    'ERR_UNKNOWN_METRIC',
    `Cannot watch ${name} as evaluate must return it: current metrics are ${Object.keys(metrics).join(', ') || 'none'}`,
    { metric: name },
  )
}
