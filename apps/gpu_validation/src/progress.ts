import { closeSync, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** A line of progress.jsonl; without an item, the section itself. */
interface Step {
  readonly section: string
  readonly item?: string
  readonly state: 'begins' | 'ends'
}

/**
 * Items that the sections of a run have begun and ended. Each is written to disk before it starts and after it ends.
 */
export class Progress {
  readonly #file: string
  readonly #section: string
  readonly #begun: Set<string>
  /** The items that earlier processes began and did not end. */
  readonly interrupted: readonly string[]

  constructor(folder: string, section: string) {
    this.#file = join(folder, 'progress.jsonl')
    this.#section = section
    const items = stepsIn(this.#file).filter((step) => step.section === section)
    const named = (state: Step['state']) =>
      items.flatMap(({ state: own, item }) => (own === state && item !== undefined ? [item] : []))
    this.#begun = new Set(named('begins'))
    const ended = new Set(named('ends'))
    this.interrupted = [...this.#begun].filter((item) => !ended.has(item))
  }

  /** Notes that `item` begins; false if it had begun before. */
  begin(item: string): boolean {
    if (this.#begun.has(item)) return false
    this.#begun.add(item)
    appendLine(this.#file, { section: this.#section, item, state: 'begins' } satisfies Step)
    return true
  }

  end(item: string): void {
    appendLine(this.#file, { section: this.#section, item, state: 'ends' } satisfies Step)
  }

  /** How many items have begun: more after a restart that is worth another. */
  get size(): number {
    return this.#begun.size
  }

  /** Sections that have ended. */
  static ended(folder: string): ReadonlySet<string> {
    const steps = stepsIn(join(folder, 'progress.jsonl'))
    return new Set(
      steps.filter(({ item, state }) => item === undefined && state === 'ends').map((step) => step.section),
    )
  }

  static endSection(folder: string, section: string): void {
    appendLine(join(folder, 'progress.jsonl'), { section, state: 'ends' } satisfies Step)
  }
}

function stepsIn(file: string): readonly Step[] {
  return linesOf<Step>(file)
}

/** The lines of a file that are whole; one cut short by the end of its process is left out. */
export function linesOf<Line>(file: string): readonly Line[] {
  let text = ''
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return []
  }
  return text.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as Line]
    } catch {
      return []
    }
  })
}

/** Appends a line in one write; behind one that was cut short, on a separate line. */
export function appendLine(file: string, line: object): void {
  const descriptor = openSync(file, 'a+')
  try {
    const { size } = fstatSync(descriptor)
    const last = Buffer.alloc(1)
    if (size > 0) readSync(descriptor, last, 0, 1, size - 1)
    const isCut = size > 0 && last.toString() !== '\n'
    writeSync(descriptor, `${isCut ? '\n' : ''}${JSON.stringify(line)}\n`)
  } finally {
    closeSync(descriptor)
  }
}
