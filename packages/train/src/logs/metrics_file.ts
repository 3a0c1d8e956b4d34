import { type FileHandle, mkdir, open, readFile, rename, writeFile } from 'node:fs/promises'
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
    const kept = (await readMetrics(path)).filter((report) => report.step <= step)
    const temporary = `${path}.tmp`
    await writeFile(temporary, kept.map((report) => `${metricsLine(report)}\n`).join(''))
    await rename(temporary, path)
    return new MetricsFile(path, await open(path, 'a'))
  }

  async write(report: StepReport): Promise<void> {
    await this.#file.write(`${metricsLine(report)}\n`)
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}

/** The reports of a metrics file, for charts; none when there is no file. A last line that was cut off is left out. */
export async function readMetrics(path: string): Promise<StepReport[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const complete = text.slice(0, text.lastIndexOf('\n') + 1)
  return complete.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line, revive) as StepReport]))
}

const SPECIAL = new Map(['NaN', 'Infinity', '-Infinity'].map((text) => [text, Number(text)]))

function revive(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? (SPECIAL.get(value) ?? value) : value
}
