import { availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os'
import { codedError, thrownMessage } from '@cudnn-rnn/canonical/rules'
import { INSTRUCTION_SETS, type InstructionSet } from '@cudnn-rnn/rnn/executors'
import { installBaselines } from './baseline_packages.js'
import { benchCases } from './bench_cases.js'
import type { BenchReport, ImplementationReport } from './bench_report.js'
import type { Comparison, ComparisonResult } from './comparison.js'
import { type BenchContext, runComparison } from './comparison_run.js'
import { ImplementationPool } from './implementation_pool.js'
import { implementationLaunch } from './implementation_process.js'
import { BASELINES, executorImplementation, type Implementation } from './implementation_table.js'
import { bindingNote } from './instruction_set_binding.js'
import { betterRates, type MachineRates, measureMachineRates } from './machine_rates.js'
import { rooflineOf } from './roofline.js'
import { TimeBudget } from './time_budget.js'

export interface BenchOptions {
  readonly executor: string
  /** What every implementation is held to; one that cannot be is left out. Undefined: each takes the best that it finds. */
  readonly instructionSet?: InstructionSet | undefined
  /** Interpreter with PyTorch. */
  readonly python?: string | undefined
  readonly seed: number
  readonly drawn: number
  readonly full: boolean
  /** Pattern that the ids of comparisons have to match. */
  readonly only?: RegExp | undefined
}

type Announce = (line: string) => void

const ROUNDS = 3
const SLICE_MS = 30
const LONGEST_RUN_MS = 4000

/**
 * Times networks all over the space of sizes beside other libraries. `announce` receives the progress, a line at a time.
 *
 * @throws Error `ERR_NO_EXECUTOR` if the executor does not work
 */
export async function runBench(options: BenchOptions, announce: Announce): Promise<BenchReport> {
  const { executor, seed, only, instructionSet } = options
  const [loadBefore = 0] = loadavg()
  const threads = availableParallelism() > 1 ? [1, 2] : [1]
  const most = Math.max(...threads)
  const candidates = [executorImplementation(executor), ...BASELINES]
  const pool = new ImplementationPool(candidates, (implementation, { threads: count, precision }) =>
    implementationLaunch(implementation, count, precision, { python: options.python, instructionSet }),
  )
  try {
    const implementations = await startCandidates(candidates, pool, most, options, announce)
    const present = candidates.filter((_, index) => implementations[index].participates)
    if (!implementations[0].participates) {
      const reason = implementations[0].detail
      throw codedError('ERR_NO_EXECUTOR', `Cannot run the benchmark as ${executor} must work here: ${reason}`)
    }
    const cases = benchCases({ ...options, implementations: present, threads }).filter(
      ({ id }) => only?.test(id) ?? true,
    )
    const ratesBefore = await measuredRates(most, instructionSet)
    const context = { pool, rounds: ROUNDS, sliceMs: SLICE_MS, budget: new TimeBudget(LONGEST_RUN_MS) }
    const comparisons = await runCases(cases, context, announce)
    const ratesAfter = await measuredRates(most, instructionSet)
    const rates =
      typeof ratesBefore === 'string' || typeof ratesAfter === 'string'
        ? ratesBefore
        : betterRates(ratesBefore, ratesAfter)
    return {
      date: new Date().toISOString(),
      machine: machineDescription(),
      ...{ loadBefore, seed, implementations, rates },
      instructionSet: instructionSet ?? INSTRUCTION_SETS.find((set) => implementations[0].detail.includes(` ${set},`)),
      comparisons: comparisons.map((comparison) => withRoofline(comparison, rates)),
    }
  } finally {
    await pool.stop()
  }
}

/** Runs comparisons one after the other; `announce` receives a line for each. */
export async function runCases(
  cases: readonly Comparison[],
  context: BenchContext,
  announce: Announce,
): Promise<ComparisonResult[]> {
  const results: ComparisonResult[] = []
  for (const [index, comparison] of cases.entries()) {
    const result = await runComparison(comparison, context)
    results.push(result)
    announce(`${index + 1}/${cases.length} ${comparison.id}: ${progressOf(result)}`)
  }
  return results
}

/** Starts all implementations and records their versions, or the reasons of their absence. */
async function startCandidates(
  candidates: readonly Implementation[],
  pool: ImplementationPool,
  threads: number,
  { python, instructionSet }: BenchOptions,
  announce: Announce,
): Promise<ImplementationReport[]> {
  const baselineProblem = installBaselines(announce)
  const reports: ImplementationReport[] = []
  for (const implementation of candidates) {
    const { name, title, kind, language } = implementation
    announce(`Starting ${title}`)
    const absence =
      language === 'python' && python === undefined
        ? 'requested by --python PATH'
        : (bindingNote(implementation, instructionSet) ?? (name === 'onnxruntime' ? baselineProblem : undefined))
    const first = { implementation: name, threads, precision: 'float32', pass: 'inference' } as const
    const process = absence ?? (await pool.process(first))
    if (typeof process === 'string') {
      reports.push({ name, title, kind, version: undefined, detail: process, participates: false })
      continue
    }
    reports.push({ name, title, kind, version: process.version, detail: process.detail, participates: true })
  }
  return reports
}

function machineDescription(): BenchReport['machine'] {
  return {
    processor: `${cpus()[0]?.model.trim() ?? 'unknown'}, ${cpus().length} threads`,
    system: `${platform()} ${release()}`,
    node: process.version,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
  }
}

/** The rates of this machine, or why they cannot be measured. */
async function measuredRates(
  threads: number,
  instructionSet: InstructionSet | undefined,
): Promise<MachineRates | string> {
  try {
    return await measureMachineRates(threads, instructionSet)
  } catch (error) {
    return thrownMessage(error)
  }
}

function withRoofline(comparison: ComparisonResult, rates: MachineRates | string): ComparisonResult {
  if (typeof rates === 'string') return comparison
  const [{ series }] = comparison.results
  return { ...comparison, roofline: rooflineOf(comparison.workload, series.pass, series.threads, rates) }
}

/** "cpu 1.23 ms, onnxruntime 1.50 ms" */
function progressOf({ results }: ComparisonResult): string {
  return results
    .map(({ series: { implementation }, outcome }) => {
      if (outcome.status === 'measured') return `${implementation} ${outcome.spread.median.toPrecision(3)} ms`
      return `${implementation} ${outcome.status}${'reason' in outcome ? `: ${outcome.reason}` : ''}`
    })
    .join(', ')
}
