import {
  checkArguments,
  checkOptions,
  FLAG,
  integerFrom,
  listOf,
  methods,
  NUMBER,
  type OptionsOf,
  optional,
  TEXT,
} from '@cudnn-rnn/arguments'
import { visibleText } from '@cudnn-rnn/text'
import { Presets, SingleBar } from 'cli-progress'

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
  /** Where a resumed run begins; default 0. */
  done: optional(COUNT),
  /** Width of the figures on a terminal, the bar takes the rest of 80 columns; default 60. */
  figuresWidth: optional(COUNT),
}

/** Options of {@link TerminalProgress}. */
export interface ProgressOptions extends OptionsOf<typeof OPTIONS> {}

const UPDATE = { step: NUMBER, figures: listOf(TEXT), important: FLAG }

/** Without a terminal, a line is printed at most every so many seconds. */
const SECONDS_BETWEEN_LINES = 5

/** Percentage, time left and spaces. */
const FRAME_WIDTH = 18
const SHORTEST_BAR = 4
const LONGEST_BAR = 24

/**
 * Shows the progress of a run: a bar on a terminal, plain lines anywhere else.
 *
 * @example
 * ```ts
 * import { TerminalProgress } from '@cudnn-rnn/report'
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
    checkOptions('show progress', options, OPTIONS)
    const { total, done = 0, figuresWidth = 60 } = options
    this.#stream = stream
    this.#total = total
    if (!stream.isTTY) return
    const format = '{bar} {percentage}%  {figures}  {eta_formatted} left'
    const { columns = 80 } = stream
    const barsize = Math.max(SHORTEST_BAR, Math.min(LONGEST_BAR, columns - figuresWidth - FRAME_WIDTH))
    const barOptions = { format, stream: stream as NodeJS.WriteStream, hideCursor: true, barsize, etaBuffer: 150 }
    this.#bar = new SingleBar(barOptions, Presets.shades_classic)
    this.#bar.start(total, done, { figures: '' })
  }

  /** @param important prints a line regardless of the time since the last one: an evaluation. */
  update(step: number, figures: readonly string[], important = false): void {
    checkArguments('show progress', { step, figures, important }, UPDATE)
    const text = figures.map(visibleText).join('  ')
    if (this.#bar !== undefined) {
      this.#bar.update(step, { figures: text })
      return
    }
    const now = Date.now()
    if (!important && step !== this.#total && now - this.#lastLine < SECONDS_BETWEEN_LINES * 1000) return
    this.#lastLine = now
    this.#stream.write(`step ${step}/${this.#total}  ${text}\n`)
  }

  stop(): void {
    this.#bar?.stop()
  }
}
