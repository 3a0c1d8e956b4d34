import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { codedError } from '@cudnn-rnn/canonical/rules'
import type { InstructionSet } from '@cudnn-rnn/rnn/executors'
import { benchCases } from './bench_cases.js'
import { runCases } from './bench_run.js'
import { type ComparisonResult, medianOf, type Series } from './comparison.js'
import type { BenchContext } from './comparison_run.js'
import { ImplementationPool } from './implementation_pool.js'
import type { ImplementationProcess } from './implementation_process.js'
import { executorImplementation, type Implementation } from './implementation_table.js'
import { geometricMean } from './statistics.js'
import { TimeBudget } from './time_budget.js'
import { CELL_TITLES, sizesOf } from './workload.js'

export interface CheckoutComparison {
  /** Folders of two checkouts in which apps/bench is built. */
  readonly before: string
  readonly after: string
  readonly executor: string
  readonly threads: number
  readonly instructionSet?: InstructionSet | undefined
  readonly only?: RegExp | undefined
  /** Turns of each checkout for each cell. */
  readonly rounds: number
}

/** The names of the two series. */
const SIDES = ['before', 'after'] as const

const SLICE_MS = 30
const LONGEST_RUN_MS = 60_000
const SEED = 1
const DRAWN = 20

/**
 * Times the grid of LSTM, single steps and drawn networks with one executor as two checkouts build it. Both take turns in the same run, so
 * that a change of the machine's speed affects both.
 *
 * @throws Error `ERR_NO_EXECUTOR` if a checkout is not built or its executor does not work
 */
export async function compareCheckouts(
  options: CheckoutComparison,
  announce: (line: string) => void,
): Promise<ComparisonResult[]> {
  const { executor, threads, only, rounds } = options
  const sides = SIDES.map((side) => ({ ...executorImplementation(executor), name: side, title: side }))
  const pool = new CheckoutPool(sides, options)
  const budget = new TimeBudget(LONGEST_RUN_MS)
  const context: BenchContext = { pool, budget, rounds, sliceMs: SLICE_MS }
  const cases = benchCases({ implementations: sides, threads: [threads], seed: SEED, drawn: DRAWN, full: false })
  try {
    return await runCases(
      cases.filter(({ id }) => only?.test(id) ?? true),
      context,
      announce,
    )
  } finally {
    await pool.stop()
  }
}

const refused = (reason: string) => codedError('ERR_NO_EXECUTOR', `Cannot compare checkouts as ${reason}`)

/** The process of each checkout. */
class CheckoutPool extends ImplementationPool {
  readonly #options: CheckoutComparison

  constructor(sides: readonly Implementation[], options: CheckoutComparison) {
    const { executor, instructionSet } = options
    super(sides, ({ name }, { threads, precision }) => {
      const checkout = checkoutOf(options, name)
      const program = join(checkout, 'apps/bench/dist/implementation_main.js')
      if (!existsSync(program)) throw refused(`apps/bench must be built in ${checkout}: ${program} does not exist`)
      const args = [program, executor, String(threads), precision]
      if (instructionSet !== undefined) args.push(instructionSet)
      return { command: process.execPath, args }
    })
    this.#options = options
  }

  override async process(series: Series): Promise<ImplementationProcess> {
    const started = await super.process(series)
    if (typeof started !== 'string') return started
    const checkout = checkoutOf(this.#options, series.implementation)
    throw refused(`the ${this.#options.executor} executor must work in ${checkout}: ${started}`)
  }
}

function checkoutOf(options: CheckoutComparison, side: string): string {
  return resolve(options[side as (typeof SIDES)[number]])
}

/** The cells as a Markdown table, with the geometric mean of the ratios. */
export function checkoutTable(results: readonly ComparisonResult[]): string {
  const ratios: number[] = []
  const rows = results.map((result) => {
    const { id, workload } = result
    const [before, after] = SIDES.map((side) => medianOf(result, side))
    const name = `${CELL_TITLES[workload.cellMode]} ${id.split('/')[2]}, ${sizesOf(workload)}`
    if (before === undefined || after === undefined) return `| ${name} | ${outcomes(result)} | | |`
    ratios.push(after / before)
    return `| ${name} | ${threeDigits(before)} | ${threeDigits(after)} | ${threeDigits(after / before)} |`
  })
  const worst = ratios.length === 0 ? '' : `, worst ${threeDigits(Math.max(...ratios))}`
  return `| cell, B × T × H | before, ms | after, ms | after / before |
|---|--:|--:|--:|
${rows.join('\n')}

Geometric mean of the ratios ${ratios.length === 0 ? '–' : threeDigits(geometricMean(ratios))}${worst}.
`
}

/** Why a cell has no ratio. */
function outcomes({ results }: ComparisonResult): string {
  return results.map(({ series, outcome }) => `${series.implementation}: ${outcome.status}`).join('; ')
}

/** Three significant digits without an exponent: "0.182", "12.3", "141". */
export function threeDigits(value: number): string {
  if (value === 0) return '0'
  // 9.999 has the decimals of 10.0, to which it is rounded.
  const rounded = Math.abs(Number(value.toPrecision(3)))
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(rounded)))
  return value.toFixed(Math.min(decimals, 6))
}
