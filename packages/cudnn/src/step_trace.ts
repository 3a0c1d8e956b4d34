import { GraphTrial } from './graph_trial.js'
import type { Buffer } from './native_addon.js'
import type { StepGraph } from './step_graph.js'
import type { StepLog } from './step_log.js'

/** Times that a form comes before it is captured: the first makes plans, the second tells which buffers change. */
const WARM_UPS = 2
/** Captures of one form, each because a buffer changed that had not, until it is left alone. */
const MOST_CAPTURES = 4
/** Captures of one form that may fail. */
const MOST_FAILED_CAPTURES = 3

/** One form of steps: how often it came, what was the same every time, and its graph. */
export class StepTrace {
  readonly #form: readonly unknown[]
  readonly #changing = new Set<number>()
  #externals: readonly Buffer[]
  #seen = 0
  #captures = 0
  #failures = 0
  #isRefused = false
  #graph: StepGraph | undefined
  readonly #trial: GraphTrial | undefined

  /** @param isMeasured where false, the graph is taken for the faster way */
  constructor(log: StepLog, isMeasured: boolean) {
    this.#trial = isMeasured ? new GraphTrial() : undefined
    this.#form = log.form
    this.#externals = log.externals
  }

  fits({ form }: StepLog): boolean {
    return form.length === this.#form.length && form.every((token, k) => Object.is(token, this.#form[k]))
  }

  get graph(): StepGraph | undefined {
    return this.#graph
  }

  /** True where the external buffer of this index was another one before. */
  isChanging(external: number): boolean {
    return this.#changing.has(external)
  }

  /** What to do with `log`, which fits; notes which buffers changed. */
  next({ externals }: StepLog): 'issue' | 'capture' | 'replay' {
    const changed = externals.flatMap((buffer, k) => (buffer === this.#externals[k] ? [] : [k]))
    this.#externals = externals
    this.#seen++
    const isNew = changed.some((index) => !this.#changing.has(index))
    for (const index of changed) this.#changing.add(index)
    if (isNew) this.drop()
    if (this.#graph !== undefined) return 'replay'
    return !this.#isRefused && this.#seen > WARM_UPS && this.#captures < MOST_CAPTURES ? 'capture' : 'issue'
  }

  captured(graph: StepGraph): void {
    this.#captures++
    this.#graph = graph
  }

  /** Leaves the form to calls once captures failed too often: another executor may have synchronised the device. */
  captureFailed(): void {
    if (++this.#failures >= MOST_FAILED_CAPTURES) this.refuse()
  }

  /** Leaves the form to calls from now on. */
  refuse(): void {
    this.#isRefused = true
    this.drop()
  }

  /** Lets go of the graph: its buffers changed, or are no more. */
  drop(): void {
    this.#graph?.release()
    this.#graph = undefined
  }

  /** True while it is not known whether this way is the faster one. */
  awaitsTimes(way: 'calls' | 'graph'): boolean {
    return this.#trial?.awaits(way) ?? false
  }

  /** Notes a time; where the graph proves slower than the calls, it goes. */
  timed(way: 'calls' | 'graph', milliseconds: number): void {
    this.#trial!.note(way, milliseconds)
    if (this.#trial!.isLost) this.refuse()
  }
}
