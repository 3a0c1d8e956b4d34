import { entryOf } from '@cudnn-rnn/canonical/rules'
import type { Series } from './comparison.js'
import { ImplementationProcess, type Launch } from './implementation_process.js'
import type { Implementation } from './implementation_table.js'
import { ProcessWatch } from './process_watch.js'

/** How to start the process of a series. */
type LaunchOf = (implementation: Implementation, series: Series) => Launch

/** The processes of a benchmark: one per implementation, threads and precision, started when first requested. */
export class ImplementationPool {
  readonly #implementations: ReadonlyMap<string, Implementation>
  readonly #launch: LaunchOf
  readonly #watch = new ProcessWatch()
  readonly #processes = new Map<string, Promise<ImplementationProcess | string>>()

  constructor(implementations: readonly Implementation[], launch: LaunchOf) {
    this.#implementations = new Map(implementations.map((implementation) => [implementation.name, implementation]))
    this.#launch = launch
  }

  /** A folder for temporary files of the benchmark, removed by {@link stop} or when this process ends. */
  get folder(): string {
    return this.#watch.folder
  }

  implementation(name: string): Implementation {
    return entryOf(this.#implementations, name)
  }

  /** The process of a series, or why there is none. */
  process(series: Series): Promise<ImplementationProcess | string> {
    const key = processKey(series)
    const known = this.#processes.get(key)
    if (known !== undefined) return known
    const started = ImplementationProcess.start(
      this.#launch(this.implementation(series.implementation), series),
      this.#watch,
    )
    this.#processes.set(key, started)
    return started
  }

  /** Ends the process of a series, so that the next request starts a new one. */
  async discard(series: Series): Promise<void> {
    await this.#end(processKey(series))
  }

  async stop(): Promise<void> {
    for (const key of [...this.#processes.keys()]) await this.#end(key)
    this.#watch.stop()
  }

  async #end(key: string): Promise<void> {
    const process = await this.#processes.get(key)
    this.#processes.delete(key)
    if (process !== undefined && typeof process !== 'string') process.stop()
  }
}

/** Series of one key share a process. */
export function processKey({ implementation, threads, precision, pass }: Series): string {
  return [implementation, threads, precision, pass === 'streaming' ? 'steps' : 'calls'].join('/')
}
