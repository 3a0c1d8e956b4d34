import { type FileHandle, mkdir, open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { StepReport } from '../loop/fit_options.js'

/** A step as one line of JSON lines, without its end; numbers that JSON lacks become "NaN", "Infinity", "-Infinity". */
export function metricsLine(report: StepReport): string {
  return JSON.stringify(report, (_, value) =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : (value as unknown),
  )
}

/** A file of JSON lines, one per step, that a resumed run continues without a gap or a repetition. */
export class MetricsFile {
  readonly path: string
  readonly #file: FileHandle

  private constructor(path: string, file: FileHandle) {
    this.path = path
    this.#file = file
  }

  /** Opens the file to go on after `step`: lines of later steps, and one that a dying process left half, are dropped. */
  static async open(path: string, step = 0): Promise<MetricsFile> {
    await mkdir(dirname(path), { recursive: true })
    const file = await open(path, 'a+')
    try {
      // Steps ascend, so what goes is the end of the file: one call cuts it, and nothing is written again.
      await file.truncate(lengthUpTo(await file.readFile(), step))
      return new MetricsFile(path, file)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  async write(report: StepReport): Promise<void> {
    await this.#file.write(`${metricsLine(report)}\n`)
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}

/** The reports of a metrics file, for charts; none when there is no file. A truncated last line is left out. */
export async function readMetrics(path: string): Promise<StepReport[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const complete = text.slice(0, text.lastIndexOf('\n') + 1)
  return complete.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line, revive) as StepReport]))
}

/** Bytes of the complete lines whose steps are at most `step`. */
function lengthUpTo(bytes: Uint8Array, step: number): number {
  let length = 0
  for (let end = bytes.indexOf(NEW_LINE); end >= 0; end = bytes.indexOf(NEW_LINE, length)) {
    const line = new TextDecoder().decode(bytes.subarray(length, end))
    if (line !== '' && (JSON.parse(line) as StepReport).step > step) break
    length = end + 1
  }
  return length
}

const NEW_LINE = 10

const SPECIAL = new Map(['NaN', 'Infinity', '-Infinity'].map((text) => [text, Number(text)]))

function revive(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? (SPECIAL.get(value) ?? value) : value
}
