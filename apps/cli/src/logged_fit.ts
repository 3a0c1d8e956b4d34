import { join } from 'node:path'
import { type ProgressOptions, TerminalProgress } from '@cudnn-rnn/rnn/report'
import type { FitOptions, FitResult, StepReport } from '@cudnn-rnn/rnn'
import { EventFile, type GateWeights, MetricsFile, metricsLine, readMetrics } from '@cudnn-rnn/rnn/train'
import { withInterrupt } from './interrupt.js'
import { announceResume, checkNothingSaved, checkSteps, skippedText } from './resumed_run.js'

/** The options of `fit` that the log needs for itself. */
type Hooks = Pick<FitOptions<unknown>, 'onStart' | 'onStep' | 'signal'>

export interface LoggedFitOptions {
  /** Calls `fit`, of `@cudnn-rnn/train` or of a model, with these options among its own. */
  readonly fit: (hooks: Hooks) => Promise<FitResult>
  /** Steps of the whole run. */
  readonly maxSteps: number
  readonly signal?: AbortSignal | undefined
  readonly directory: string
  /** Another rank than the first of several writes no log. Default true. */
  readonly isFirst?: boolean | undefined
  /** The run is resumed: its directory must have its saves. */
  readonly isResumed: boolean
  /** Called for a resumed run when everything is checked and restored, before anything is logged. */
  readonly onResume?: (() => Promise<void>) | undefined
  /** Prints one JSON line per step instead of the progress display. */
  readonly json: boolean
  /** That line; by default a line of metrics. */
  readonly jsonLine?: ((report: StepReport) => string) | undefined
  /** Prints nothing. */
  readonly quiet?: boolean | undefined
  readonly onStep?: ((report: StepReport) => void) | undefined
  readonly maxSeconds?: number | undefined
  /** Text of a step in the progress display. */
  readonly figures: (report: StepReport) => readonly string[]
  readonly progress?: Omit<ProgressOptions, 'total' | 'done'> | undefined
  /** The recurrent weights, for histograms at every evaluation. */
  readonly gates: () => Promise<readonly GateWeights[]>
  /** A sample of the model's output, as Markdown for TensorBoard at every evaluation. */
  readonly sample?: (() => Promise<string>) | undefined
}

export interface LoggedFitResult extends Omit<FitResult, 'ending'> {
  readonly ending: FitResult['ending'] | 'interrupted' | 'out of time'
  /** Reports of the whole run, including the part before a resume. */
  readonly reports: readonly StepReport[]
}

/**
 * `fit` as the commands run it: progress on the terminal, `metrics.jsonl` and TensorBoard's `events` in the directory, and
 * an end that is saved at Ctrl-C and when the time is up.
 */
export async function loggedFit(options: LoggedFitOptions): Promise<LoggedFitResult> {
  const { directory, json, jsonLine = metricsLine, quiet = false, figures, progress: display, maxSteps } = options
  const { fit, signal, maxSeconds, gates, sample, onResume, onStep, isResumed, isFirst = true } = options
  const metricsPath = join(directory, 'metrics.jsonl')
  let begun: Promise<void> | undefined
  let metrics: MetricsFile | undefined
  let events: EventFile | undefined
  let progress: TerminalProgress | undefined
  try {
    return await withInterrupt(async (interrupt) => {
      const signals = [interrupt, timeLimit(maxSeconds), signal].filter((signal) => signal !== undefined)
      const result = await fit({
        signal: AbortSignal.any(signals),
        onStart(step, resumed) {
          begun = (async () => {
            if (isResumed) {
              if (resumed === undefined) await checkNothingSaved(directory, metricsPath)
              checkSteps(directory, step, maxSteps)
              if (!quiet) announceResume(step, resumed?.skipped ?? [], { json, maxSteps })
              await onResume?.()
            }
            metrics = await MetricsFile.open(metricsPath, step)
            events = await EventFile.create(join(directory, 'events'), { afterStep: step })
            for (const each of resumed?.skipped ?? []) await events.text('resume', skippedText(each), step)
            if (!json && !quiet)
              progress = new TerminalProgress(process.stdout, {
                ...display,
                total: maxSteps,
                done: step,
              })
          })()
          return begun
        },
        async onStep(report) {
          await metrics?.write(report)
          if (events !== undefined) await writeEvents(events, report, { gates, sample })
          if (json) process.stdout.write(`${jsonLine(report)}\n`)
          onStep?.(report)
          const warning = report.skipped ? ['update skipped: gradients are not finite'] : []
          progress?.update(
            report.step,
            [...figures(report), ...warning],
            report.skipped || report.metrics !== undefined,
          )
        },
      })
      const why = interrupt.aborted || signal?.aborted ? 'interrupted' : 'out of time'
      const ending = result.ending === 'aborted' ? why : result.ending
      return { ...result, ending, reports: isFirst ? await readMetrics(metricsPath) : [] }
    })
  } finally {
    // An interrupted fit does not wait for it, but the files that it opens are to be closed.
    await begun?.catch(() => undefined)
    progress?.stop()
    await metrics?.close()
    await events?.close()
  }
}

/** AbortSignal.timeout(0) would leave time for a step. */
function timeLimit(maxSeconds: number | undefined): AbortSignal | undefined {
  if (maxSeconds === undefined) return undefined
  return maxSeconds === 0 ? AbortSignal.abort() : AbortSignal.timeout(maxSeconds * 1000)
}

async function writeEvents(
  events: EventFile,
  { step, loss, learningRate, gradientNorm, metrics }: StepReport,
  { gates, sample }: Pick<LoggedFitOptions, 'gates' | 'sample'>,
): Promise<void> {
  await events.scalar('train/loss', loss, step)
  await events.scalar('train/learning_rate', learningRate, step)
  await events.scalar('train/gradient_norm', gradientNorm, step)
  if (metrics === undefined) return
  for (const [name, value] of Object.entries(metrics)) await events.scalar(`held_out/${name}`, value, step)
  for (const { name, values } of await gates()) await events.histogram(name, values, step)
  if (sample !== undefined) await events.text('sample', await sample(), step)
}
