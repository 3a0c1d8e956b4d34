import {
  checkArguments,
  checkOptions,
  FLAG,
  integerFrom,
  listOf,
  methods,
  NUMBER,
  optional,
  type OptionsOf,
  TEXT,
  visibleText,
} from '@cudnn-rnn/canonical/rules'
// Node.js finds no named export Format in this CommonJS module.
import cliProgress, { type Options, type Params, type SingleBar } from 'cli-progress'

/** The used members of `process.stdout`. Its type is not named, as not every project has the types of Node.js. */
export interface ProgressStream {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  write(text: string): unknown
}

const STREAM = methods('a stream such as process.stdout', 'write')
const COUNT = integerFrom(0)
const OPTIONS = {
  /** Steps of the whole run. */
  total: COUNT,
  /** The step at which a resumed run begins; default 0. */
  done: optional(COUNT),
}

export interface ProgressOptions extends OptionsOf<typeof OPTIONS> {}

const UPDATE = { step: NUMBER, figures: listOf(TEXT), important: FLAG }

/** Without a terminal, a line is printed at most every so many seconds. */
const SECONDS_BETWEEN_LINES = 5

const SHORTEST_BAR = 4
const { Format, Presets } = cliProgress

const LONGEST_BAR = 24

/**
 * Shows the progress of a run: a bar on a terminal, plain lines anywhere else.
 *
 * @example
 * ```ts
 * import { TerminalProgress } from '@cudnn-rnn/rnn/report'
 *
 * const lines: string[] = []
 * const progress = new TerminalProgress({ write: (text) => lines.push(text) }, { total: 100 }) // or process.stdout
 * progress.update(100, ['loss 0.500', '12 steps/s'], true)
 * progress.stop()
 * console.log(lines.join('').includes('loss 0.500')) // true
 * ```
 */
export class TerminalProgress {
  readonly #stream: ProgressStream
  readonly #total: number
  readonly #bar: SingleBar | undefined
  #lastLine = 0

  /** Throws TypeError `ERR_INVALID_ARGUMENT`, `ERR_INVALID_OPTION_TYPE`, `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`. */
  constructor(stream: ProgressStream, options: ProgressOptions) {
    checkArguments('show progress', { stream }, { stream: STREAM })
    const { total, done = 0 } = checkOptions('show progress', options, OPTIONS)
    this.#stream = stream
    this.#total = total
    if (!stream.isTTY) return
    const format = (barOptions: Options, params: Params, { figures }: { readonly figures: readonly string[] }) =>
      barLine(barOptions, params, figures, stream.columns ?? 80)
    const barOptions = { format, stream: stream as NodeJS.WriteStream, hideCursor: true, barsize: LONGEST_BAR }
    this.#bar = new cliProgress.SingleBar({ ...barOptions, etaBuffer: 150 }, Presets.shades_classic)
    this.#bar.start(total, done, { figures: [] })
  }

  /** @param important prints a line regardless of the time since the last one: an evaluation. */
  update(step: number, figures: readonly string[], important = false): void {
    checkArguments('show progress', { step, figures, important }, UPDATE)
    const shown = figures.map(visibleText)
    if (this.#bar !== undefined) {
      this.#bar.update(step, { figures: shown })
      return
    }
    const now = Date.now()
    if (!important && step !== this.#total && now - this.#lastLine < SECONDS_BETWEEN_LINES * 1000) return
    this.#lastLine = now
    this.#stream.write(`step ${step}/${this.#total}  ${shown.join('  ')}\n`)
  }

  stop(): void {
    this.#bar?.stop()
  }
}

/** A bar that shrinks so that the line fits; if that is not enough, the time left goes, then the bar, then the last figures. */
function barLine(options: Options, { progress, eta }: Params, figures: readonly string[], columns: number): string {
  const percentage = `${Math.floor(100 * progress)}%`
  const left = `${Format.TimeFormat(eta, options, 5)} left`
  // The last column stays free: some terminals begin another line after it.
  const room = columns - 1
  for (const parts of [
    [percentage, ...figures, left],
    [percentage, ...figures],
  ]) {
    const text = parts.join('  ')
    const size = Math.min(LONGEST_BAR, room - text.length - 1)
    if (size >= SHORTEST_BAR) return `${Format.BarFormat(progress, { ...options, barsize: size })} ${text}`
  }
  const fitting = [percentage, ...figures]
  while (fitting.length > 1 && fitting.join('  ').length > room) fitting.pop()
  return fitting.join('  ').slice(0, room)
}
