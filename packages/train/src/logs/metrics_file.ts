import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describeValue } from '@cudnn-rnn/canonical'
import {
  checkArguments,
  codedRangeError,
  codedTypeError,
  FILE_PATH,
  integerFrom,
  OBJECT,
  PATH,
} from '@cudnn-rnn/canonical/rules'
import { checkIsRegular, makeDirectory, readRegularFile } from '@cudnn-rnn/checkpoint/files'
import type { StepReport } from '../loop/fit_options.js'
import { appendWhole, coded, logError } from './log_error.js'

/**
 * A step as one line of JSON lines, without its end; numbers that JSON lacks become "NaN", "Infinity", "-Infinity".
 *
 * @example
 * ```ts
 * import { metricsLine } from '@cudnn-rnn/rnn/train'
 *
 * const report = { step: 1, loss: 0.5, learningRate: 0.001, gradientNorm: Infinity, skipped: true, seconds: 0.01 }
 * console.log(metricsLine(report))
 * // {"step":1,"loss":0.5,"learningRate":0.001,"gradientNorm":"Infinity","skipped":true,"seconds":0.01}
 * ```
 */
export function metricsLine(report: StepReport): string {
  checkArguments('write metrics', { report }, { report: OBJECT })
  try {
    return JSON.stringify(report, (_, value) =>
      typeof value === 'number' && !Number.isFinite(value) ? String(value) : (value as unknown),
    )
  } catch (cause) {
    // Circular, or with a bigint.
    const message = `Cannot write metrics as the report must be plain JSON: current value is ${describeValue(report)}`
    throw codedTypeError('ERR_INVALID_ARGUMENT', message, { argument: 'report', cause })
  }
}

/**
 * A file of JSON lines, one per step, that a resumed run continues without a gap or a repetition.
 *
 * @example
 * ```ts
 * import { MetricsFile, readMetrics } from '@cudnn-rnn/rnn/train'
 *
 * const report = { step: 1, loss: 0.5, learningRate: 0.001, gradientNorm: 2, skipped: false, seconds: 0.01 }
 * const metrics = await MetricsFile.open('metrics.jsonl')
 * await metrics.write(report)
 * await metrics.close()
 * console.log((await readMetrics('metrics.jsonl')).length) // 1
 * ```
 */
export class MetricsFile {
  readonly path: string
  readonly #file: FileHandle
  /** Bytes of the lines written whole. */
  #length: number

  private constructor(path: string, file: FileHandle, length: number) {
    this.path = path
    this.#file = file
    this.#length = length
  }

  /**
   * Opens the file to go on after `step`: lines of later steps, and one that a killed process left half, are dropped. A
   * symbolic link is refused.
   *
   * @throws RangeError `ERR_LOG_IO`, `ERR_LOG_DAMAGED`, `ERR_INVALID_OPTION`; TypeError `ERR_INVALID_ARGUMENT`
   */
  static async open(path: string, step = 0): Promise<MetricsFile> {
    checkArguments('open metrics', { path, step }, { path: FILE_PATH, step: integerFrom(0) })
    return coded('open', path, async () => {
      await makeDirectory(dirname(path))
      const file = await open(path, APPEND_TO_OWN_FILE, 0o666)
      try {
        await checkIsRegular(file)
        // Steps ascend, so the end of the file is dropped: one call truncates it, and nothing is rewritten.
        const length = lengthUpTo(path, await file.readFile(), step)
        await file.truncate(length)
        return new MetricsFile(path, file, length)
      } catch (error) {
        await file.close()
        throw error
      }
    })
  }

  /** Throws RangeError `ERR_LOG_IO`; the file then has the lines of before. */
  async write(report: StepReport): Promise<void> {
    const line = new TextEncoder().encode(`${metricsLine(report)}\n`)
    await appendWhole(this.path, this.#file, line, this.#length)
    this.#length += line.length
  }

  /** Throws RangeError `ERR_LOG_IO`. */
  async close(): Promise<void> {
    await coded('close', this.path, () => this.#file.close())
  }
}

/** Windows has no such flag as O_NOFOLLOW. */
const APPEND_TO_OWN_FILE =
  constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | ((constants.O_NOFOLLOW as number | undefined) ?? 0)

/**
 * The reports of a metrics file, for charts; none when there is no file. A truncated last line is left out.
 *
 * @throws RangeError `ERR_LOG_IO`, `ERR_LOG_DAMAGED`
 * @example
 * ```ts
 * import { MetricsFile, readMetrics } from '@cudnn-rnn/rnn/train'
 *
 * console.log(await readMetrics('no-such-file.jsonl')) // []
 * const metrics = await MetricsFile.open('metrics.jsonl')
 * await metrics.write({ step: 1, loss: 0.5, learningRate: 0.001, gradientNorm: 2, skipped: false, seconds: 0.01 })
 * await metrics.close()
 * console.log((await readMetrics('metrics.jsonl'))[0]?.loss) // 0.5
 * ```
 */
export async function readMetrics(path: string): Promise<StepReport[]> {
  checkArguments('read metrics', { path }, { path: PATH })
  const bytes = await readRegularFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw logError('read', path, error)
  })
  const text = String(bytes)
  const complete = text.slice(0, text.lastIndexOf('\n') + 1)
  return complete.split('\n').flatMap((line) => (line === '' ? [] : [reportOf(path, line)]))
}

/** Bytes of the complete lines whose steps are at most `step`. */
function lengthUpTo(path: string, bytes: Uint8Array, step: number): number {
  let length = 0
  for (let end = bytes.indexOf(NEW_LINE); end >= 0; end = bytes.indexOf(NEW_LINE, length)) {
    const line = new TextDecoder().decode(bytes.subarray(length, end))
    if (line !== '' && reportOf(path, line).step > step) break
    length = end + 1
  }
  return length
}

function reportOf(path: string, line: string): StepReport {
  try {
    const report = JSON.parse(line, revive) as StepReport | null
    if (typeof report?.step === 'number') return report
  } catch {
    // The message shows the line.
  }
  throw codedRangeError(
    'ERR_LOG_DAMAGED',
    `Cannot read ${path} as each line must be a step in JSON: current line is ${line.slice(0, 100)}`,
    { path },
  )
}

const NEW_LINE = 10

const SPECIAL = new Map(['NaN', 'Infinity', '-Infinity'].map((text) => [text, Number(text)]))

function revive(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? (SPECIAL.get(value) ?? value) : value
}
