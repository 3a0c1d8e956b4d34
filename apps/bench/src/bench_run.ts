import { availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os'
import { thrownMessage } from '@cudnn-rnn/canonical/rules'
import { inspectBackends } from '@cudnn-rnn/rnn'
import type { InstructionSet } from '@cudnn-rnn/rnn/executors'
import { installBaselines } from './baseline_packages.js'
import { benchCases } from './bench_cases.js'
import type { BenchReport, ComparisonResult, ImplementationReport, MachinePeak } from './bench_report.js'
import { codedError } from './coded_error.js'
import { type Comparison, seriesName } from './comparison.js'
import { type BenchContext, runComparison } from './comparison_run.js'
import { ImplementationPool } from './implementation_pool.js'
import type { ImplementationProcess } from './implementation_process.js'
import { BASELINES, executorImplementation, type Implementation } from './implementation_table.js'
import { bindingNote } from './instruction_set_binding.js'
import { LoadGenerator } from './load_generator.js'
import { betterPeak, measurePeak } from './machine_peak.js'
import { betterRates, type MachineRates, measureMachineRates } from './machine_rates.js'
import { measureMemory } from './memory_run.js'
import { rooflineOf } from './roofline.js'
import { judgeTargets } from './targets.js'
import { TimeBudget } from './time_budget.js'
import { sizesOf, type Workload } from './workload.js'

export interface BenchOptions {
  /** Our executors, best first; undefined for all that work here. */
  readonly executors: readonly string[] | undefined
  readonly threads: number
  /** What every implementation that can be is held to; undefined: each takes the best that it finds. */
  readonly instructionSet: InstructionSet | undefined
  /** Interpreter with PyTorch, TensorFlow or Keras. */
  readonly python: string | undefined
  readonly quick: boolean
  /** Pattern that the ids of comparisons have to match. */
  readonly only: RegExp | undefined
  /** Longest run of a cell, in milliseconds. */
  readonly limitMs: number
}

type Announce = (line: string) => void

/** Large enough that the weights show, small enough for every implementation. */
const MEMORY_WORKLOAD: Workload = {
  cellMode: 'lstm',
  numLayers: 1,
  bidirectional: false,
  batch: 16,
  time: 70,
  inputSize: 512,
  numUnits: 512,
}

/** Runs the benchmark. `announce` receives the progress, a line at a time. Throws as `inspectBackends` does. */
export async function runBench(options: BenchOptions, announce: Announce): Promise<BenchReport> {
  const { threads, quick, instructionSet } = options
  const [loadBefore = 0] = loadavg()
  const rounds = quick ? 3 : 7
  const sliceMs = quick ? 30 : 100
  const executors = options.executors ?? (await workingExecutors(options))
  const candidates = [...executors.map(executorImplementation), ...BASELINES]
  const pool = new ImplementationPool(candidates, options)
  const loadGenerator = new LoadGenerator(availableParallelism())
  try {
    const implementations = await startCandidates(candidates, pool, options, announce)
    const present = candidates.filter((_, index) => implementations[index].participates)
    const executor = present.find(({ kind }) => kind === 'executor')
    if (executor === undefined) {
      const reasons = implementations
        .filter(({ kind }) => kind === 'executor')
        .map(({ name, detail }) => `${name}: ${detail}`)
      const message = `Cannot run the benchmark as one of our executors must work here: ${reasons.join('; ')}`
      throw codedError('ERR_NO_EXECUTOR', message)
    }
    announce('Probing the machine')
    const peakBefore = await peakOf(present, pool, threads)
    const ratesBefore = await measuredRates(options)
    const measured = await compareAll(present, { pool, loadGenerator, rounds, sliceMs, options }, announce)
    announce('Probing the machine again, and measuring memory')
    const peak = betterPeak(peakBefore, await peakOf(present, pool, threads))
    const rates =
      typeof ratesBefore === 'string'
        ? ratesBefore
        : betterRates(ratesBefore, await measureMachineRates(threads, instructionSet))
    const comparisons = measured.map((comparison) => withRoofline(comparison, rates))
    const memory = await measureMemory(MEMORY_WORKLOAD, present, pool, threads)
    return {
      date: new Date().toISOString(),
      machine: machineDescription(),
      loadBefore,
      settings: { threads, instructionSet, quick, rounds, sliceMs },
      implementations,
      peak,
      rates,
      comparisons,
      memory: { workload: `LSTM, ${sizesOf(MEMORY_WORKLOAD)}`, results: memory },
      targets: judgeTargets(
        comparisons,
        executor.name,
        (name) => BASELINES.some((baseline) => baseline.name === name),
        memory,
      ),
    }
  } finally {
    await pool.stop()
    await loadGenerator.stop()
  }
}

/** The machine that this runs on. */
export function machineDescription(): BenchReport['machine'] {
  return {
    processor: `${cpus()[0]?.model.trim() ?? 'unknown'}, ${cpus().length} threads`,
    system: `${platform()} ${release()}`,
    node: process.version,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
  }
}

async function workingExecutors({ threads, instructionSet }: BenchOptions): Promise<string[]> {
  const reports = await inspectBackends({ threads, instructionSet })
  return reports.filter(({ available }) => available).map(({ name }) => name)
}

/** Starts all implementations and records their versions, or the reasons of their absence. */
export async function startCandidates(
  candidates: readonly Implementation[],
  pool: ImplementationPool,
  { threads, python, instructionSet }: Pick<BenchOptions, 'threads' | 'python' | 'instructionSet'>,
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
        : kind === 'baseline' && language === 'node'
          ? baselineProblem
          : undefined
    const process = absence ?? (await pool.process(homeSeries(name, threads)))
    if (typeof process === 'string') {
      reports.push({ name, title, kind, version: undefined, detail: process, participates: false })
      continue
    }
    const note = bindingNote(implementation, instructionSet)
    const detail = note === undefined ? process.detail : `${process.detail}; ${note}`
    reports.push({ name, title, kind, version: process.version, detail, participates: true })
  }
  return reports
}

async function peakOf(
  present: readonly Implementation[],
  pool: ImplementationPool,
  threads: number,
): Promise<MachinePeak> {
  const running: [string, ImplementationProcess][] = []
  for (const { name, title } of present) {
    const process = await pool.process(homeSeries(name, threads))
    if (typeof process !== 'string') running.push([title, process])
  }
  return measurePeak(running, threads)
}

async function compareAll(
  present: readonly Implementation[],
  {
    options,
    ...shared
  }: { pool: ImplementationPool; loadGenerator: LoadGenerator; rounds: number; sliceMs: number; options: BenchOptions },
  announce: Announce,
): Promise<ComparisonResult[]> {
  const { threads, quick, only, limitMs } = options
  const executors = present.filter(({ kind }) => kind === 'executor')
  const baselines = present.filter(({ kind }) => kind === 'baseline')
  const cases = benchCases({ executors, baselines, threads, quick }).filter(({ id }) => only?.test(id) ?? true)
  return runCases(cases, { ...shared, budget: new TimeBudget(limitMs) }, announce)
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

/** The rates of this machine, or why they cannot be measured. */
async function measuredRates({ threads, instructionSet }: BenchOptions): Promise<MachineRates | string> {
  try {
    return await measureMachineRates(threads, instructionSet)
  } catch (error) {
    return thrownMessage(error)
  }
}

function withRoofline(comparison: ComparisonResult, rates: MachineRates | string): ComparisonResult {
  const series = comparison.results[0]?.series
  const isBounded = comparison.section === 'table' || comparison.section === 'step'
  if (typeof rates === 'string' || series === undefined || !isBounded) return comparison
  return { ...comparison, roofline: rooflineOf(comparison.workload, series.pass, series.threads, rates) }
}

/** The series whose process an implementation is first seen in. */
function homeSeries(implementation: string, threads: number) {
  return { implementation, threads, weights: 'float32', pass: 'inference' } as const
}

/** "cpu 1.23 ms, onnxruntime 1.50 ms" */
function progressOf({ section, results }: ComparisonResult): string {
  return results
    .map(({ series, outcome }) => {
      const name = seriesName(series, section)
      if (outcome.status === 'measured') return `${name} ${outcome.spread.median.toPrecision(3)} ms`
      return outcome.status === 'differs' ? `${name} differs` : `${name} ${outcome.status}`
    })
    .join(', ')
}
