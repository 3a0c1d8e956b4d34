import type { InstructionSet } from '@cudnn-rnn/rnn/executors'
import type { Comparison, Section, Series } from './comparison.js'
import type { MachineRates } from './machine_rates.js'
import type { Roofline } from './roofline.js'
import type { Spread } from './statistics.js'

/** What became of a series. Times are in milliseconds. */
export type Outcome =
  | { readonly status: 'measured'; readonly spread: Spread; readonly difference: number | undefined }
  /** Not run: it cannot, or it would take longer than a cell may. */
  | { readonly status: 'skipped'; readonly reason: string }
  | { readonly status: 'failed'; readonly reason: string }
  /** Refused, as it computed other numbers than the first series. */
  | { readonly status: 'differs'; readonly difference: number }

export interface SeriesResult {
  readonly series: Series
  readonly outcome: Outcome
}

export interface ComparisonResult extends Omit<Comparison, 'seriesList'> {
  /** Flops of one run, by the formula of `workloadFlops`. */
  readonly flops: number
  /** The least that this machine could take, in the table and in single steps; absent if its rates are unknown. */
  readonly roofline?: Roofline
  readonly results: readonly SeriesResult[]
}

/** An implementation as it introduced itself, or why it did not take part. */
export interface ImplementationReport {
  readonly name: string
  readonly title: string
  readonly kind: 'executor' | 'baseline'
  readonly version: string | undefined
  readonly detail: string
  readonly participates: boolean
}

/** Peak rates of this machine: the largest values of several short measurements. */
export interface MachinePeak {
  /** Largest rate of a float32 product of two 2048 × 2048 matrices, by any implementation. */
  readonly gflops: number
  readonly productBy: string
  /** Bytes copied per second through memory, read and written, in GB/s. */
  readonly bandwidth: number
}

/** Memory of an implementation in a fresh process, in bytes; null if the system does not say. */
export interface MemoryResult {
  readonly implementation: string
  readonly pass: 'inference' | 'training'
  /** Resident before the workload was loaded. */
  readonly resident: number | null
  readonly peak: number | null
}

/** One target and the value that a benchmark reached. */
export interface TargetVerdict {
  readonly number: number
  readonly text: string
  /** `open`: every cell measured reaches it, but some are missing. */
  readonly verdict: 'met' | 'missed' | 'open'
  /** The measured number, for people. */
  readonly measured: string
  /** Cells that miss it. */
  readonly misses: readonly string[]
}

/** Everything a benchmark found out; what `--json` writes. */
export interface BenchReport {
  readonly date: string
  readonly machine: Readonly<Record<'processor' | 'system' | 'node' | 'memory', string>>
  /** Processes that wanted a core before the benchmark began: the system's load average over a minute, 0 on Windows. */
  readonly loadBefore: number
  readonly settings: {
    readonly threads: number
    /** What every implementation that can be was held to; undefined: each took the best that it found. */
    readonly instructionSet?: InstructionSet | undefined
    readonly quick: boolean
    readonly rounds: number
    readonly sliceMs: number
  }
  readonly implementations: readonly ImplementationReport[]
  readonly peak: MachinePeak
  /** Rates behind the rooflines; a string states why they were not measured. */
  readonly rates: MachineRates | string
  readonly comparisons: readonly ComparisonResult[]
  readonly memory: { readonly workload: string; readonly results: readonly MemoryResult[] }
  readonly targets: readonly TargetVerdict[]
}

/** Comparisons of one section. */
export function ofSection(comparisons: readonly ComparisonResult[], section: Section): ComparisonResult[] {
  return comparisons.filter((comparison) => comparison.section === section)
}

/** Median of the first measured series that `accepts`, in milliseconds. */
export function medianOf(comparison: ComparisonResult, accepts: (series: Series) => boolean): number | undefined {
  for (const { series, outcome } of comparison.results) {
    if (outcome.status === 'measured' && accepts(series)) return outcome.spread.median
  }
  return undefined
}

/** The fastest baseline of a comparison and its median; undefined if none was measured. */
export function bestBaseline(
  { results }: ComparisonResult,
  isBaseline: (name: string) => boolean,
): { readonly name: string; readonly ms: number } | undefined {
  const baselines = results.flatMap(({ series, outcome }) =>
    isBaseline(series.implementation) && outcome.status === 'measured'
      ? [{ name: series.implementation, ms: outcome.spread.median }]
      : [],
  )
  return baselines.length === 0
    ? undefined
    : baselines.reduce((best, baseline) => (baseline.ms < best.ms ? baseline : best))
}

/** Our time over the fastest baseline's; undefined if one of them is missing. */
export function ratioToBestBaseline(
  comparison: ComparisonResult,
  executor: string,
  isBaseline: (name: string) => boolean,
): number | undefined {
  const ours = medianOf(comparison, (series) => series.implementation === executor)
  const baseline = bestBaseline(comparison, isBaseline)
  return ours === undefined || baseline === undefined ? undefined : ours / baseline.ms
}
