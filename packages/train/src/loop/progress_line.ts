import { visibleText } from '@cudnn-rnn/canonical/rules'
import type { FitOptions, StepReport } from './fit_options.js'
import type { TrainingRecord } from './training_saver.js'

/** The used members of `process`; its type is not named, as not every project has the types of Node.js. */
interface Host {
  readonly stdout?: { readonly isTTY?: boolean; readonly columns?: number; write(text: string): unknown }
  readonly env?: Readonly<Record<string, string | undefined>>
}

export interface LineOutput {
  /** The width of a terminal that rewrites its last line; undefined for plain lines. */
  readonly columns: () => number | undefined
  readonly write: (text: string) => void
}

/** Values of a run that are shown beside the report of a step. */
export interface Shown {
  readonly maxSteps: number
  /** The metric of early stopping, which decides the best weights. */
  readonly watched: string | undefined
  readonly best: TrainingRecord['best']
}

const LONGEST_BAR = 24
const SHORTEST_BAR = 4
const MILLISECONDS_BETWEEN_DRAWINGS = 100
const MILLISECONDS_BETWEEN_LINES = 5000

/**
 * The output of `progress`, undefined for none. Absent, it is on if standard output is a terminal and no `onStep` is given,
 * which mostly prints its own.
 */
export function outputOf(
  progress: FitOptions<unknown>['progress'],
  hasOnStep: boolean,
  { stdout, env = {} }: Host = (globalThis as { process?: Host }).process ?? {},
): LineOutput | undefined {
  const isTerminal = stdout?.isTTY === true && env['TERM'] !== 'dumb'
  if (typeof progress === 'function') return { columns: () => undefined, write: progress }
  if (!(progress ?? (isTerminal && !hasOnStep))) return undefined
  if (!isTerminal) return { columns: () => undefined, write: (line) => console.log(line) }
  return { columns: () => stdout.columns ?? 80, write: (text) => void stdout.write(text) }
}

/**
 * Shows a run: on a terminal one line that is drawn again, elsewhere a line every five seconds; one stays of the last step.
 * It has no colors, so that it needs no rule for them.
 */
export class ProgressLine {
  readonly #output: LineOutput
  readonly #began = performance.now()
  #firstStep: number | undefined
  #shownAt = Number.NEGATIVE_INFINITY
  #metrics: StepReport['metrics']
  /** The text of the newest step, if it was not shown. */
  #pending: string | undefined
  #isDrawn = false

  constructor(output: LineOutput) {
    this.#output = output
  }

  update(report: StepReport, shown: Shown): void {
    this.#firstStep ??= report.step - 1
    this.#metrics = report.metrics ?? this.#metrics
    const columns = this.#output.columns()
    this.#pending = this.#text(report, shown, columns)
    const now = performance.now()
    const pause = columns === undefined ? MILLISECONDS_BETWEEN_LINES : MILLISECONDS_BETWEEN_DRAWINGS
    if (now - this.#shownAt < pause) return
    this.#shownAt = now
    this.#show()
  }

  /** Shows the last step, and leaves the cursor on a new line. */
  stop(): void {
    this.#show()
    if (this.#isDrawn) this.#output.write('\n')
    this.#isDrawn = false
  }

  #show(): void {
    if (this.#pending === undefined) return
    const isTerminal = this.#output.columns() !== undefined
    this.#output.write(isTerminal ? `\r${this.#pending}\x1b[K` : this.#pending)
    this.#isDrawn = isTerminal
    this.#pending = undefined
  }

  /** The bar shrinks so that the line fits, then the time left goes, then the bar, then the last figures. */
  #text(report: StepReport, { maxSteps, watched, best }: Shown, columns: number | undefined): string {
    const { step, loss, skipped } = report
    const isCounted = maxSteps < Number.MAX_SAFE_INTEGER
    const count = isCounted ? `step ${step}/${maxSteps}` : `step ${step}`
    const figures = [
      count,
      skipped ? 'update skipped: gradients are not finite' : `loss ${numberText(loss)}`,
      ...this.#metricTexts(watched, best),
    ]
    const rate = (step - (this.#firstStep ?? 0)) / ((performance.now() - this.#began) / 1000)
    const left = isCounted ? [`${timeText((maxSteps - step) / rate)} left`] : []
    if (columns === undefined) return figures.join('  ')
    // The last column stays free: some terminals begin another line after it.
    const room = columns - 1
    for (const parts of isCounted ? [[...figures, ...left], figures] : []) {
      const text = parts.join('  ')
      const size = Math.min(LONGEST_BAR, room - text.length - 1)
      if (size >= SHORTEST_BAR) return `${barText(step / maxSteps, size)} ${text}`
    }
    while (figures.length > 1 && figures.join('  ').length > room) figures.pop()
    return figures.join('  ').slice(0, room)
  }

  /** The metrics of the last evaluation; the one that decides comes first, with its best. */
  #metricTexts(watched: string | undefined, best: TrainingRecord['best']): readonly string[] {
    const entries = Object.entries(this.#metrics ?? {}).map(([name, value]) => {
      const text = `held-out ${visibleText(name)} ${numberText(value)}`
      if (name !== watched || best === null) return { text, place: 1 }
      return { text: `${text} (best ${numberText(best.value)} at step ${best.step})`, place: 0 }
    })
    return entries.sort((a, b) => a.place - b.place).map(({ text }) => text)
  }
}

function barText(part: number, size: number): string {
  const full = Math.round(Math.min(1, part) * size)
  return '█'.repeat(full) + '░'.repeat(size - full)
}

function numberText(value: number): string {
  const size = Math.abs(value)
  return size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(2) : value.toFixed(4)
}

function timeText(seconds: number): string {
  const whole = Math.ceil(Math.max(0, seconds))
  if (whole < 100) return `${whole} s`
  const minutes = Math.ceil(whole / 60)
  return minutes < 100 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`
}
