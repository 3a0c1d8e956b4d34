import type { Lane } from './comparison.js'
import { ContestantProcess, contestantLaunch, type LaunchConditions } from './contestant_process.js'
import type { Contestant } from './contestant_table.js'

/** The processes of a benchmark: one per contestant, threads and weights, started when first asked for. */
export class ContestantPool {
  readonly #contestants: ReadonlyMap<string, Contestant>
  readonly #conditions: LaunchConditions
  readonly #processes = new Map<string, Promise<ContestantProcess | string>>()

  constructor(contestants: readonly Contestant[], conditions: LaunchConditions) {
    this.#contestants = new Map(contestants.map((contestant) => [contestant.name, contestant]))
    this.#conditions = conditions
  }

  contestant(name: string): Contestant {
    return this.#contestants.get(name)!
  }

  /** The process of a lane, or why there is none. */
  process(lane: Omit<Lane, 'busy'>): Promise<ContestantProcess | string> {
    const key = processKey(lane)
    const known = this.#processes.get(key)
    if (known !== undefined) return known
    const started = this.startFresh(lane)
    this.#processes.set(key, started)
    return started
  }

  /** A process for one caller, which stops it. */
  startFresh({ contestant, threads, weights }: Omit<Lane, 'busy'>): Promise<ContestantProcess | string> {
    return ContestantProcess.start(contestantLaunch(this.contestant(contestant), threads, weights, this.#conditions))
  }

  /** Ends the process of a lane, so that the next one to ask starts afresh. */
  async discard(lane: Omit<Lane, 'busy'>): Promise<void> {
    await this.#end(processKey(lane))
  }

  async stop(): Promise<void> {
    for (const key of [...this.#processes.keys()]) await this.#end(key)
  }

  async #end(key: string): Promise<void> {
    const process = await this.#processes.get(key)
    this.#processes.delete(key)
    if (process !== undefined && typeof process !== 'string') process.stop()
  }
}

/** Lanes of one key share a process and the task it has loaded; the busy lane is the quiet one at another time. */
export function processKey({ contestant, threads, weights, pass }: Omit<Lane, 'busy'>): string {
  return [contestant, threads, weights, pass === 'streaming' ? 'steps' : 'calls'].join('/')
}
