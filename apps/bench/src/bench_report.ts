import type { InstructionSet } from '@cudnn-rnn/rnn/executors'
import { type ComparisonResult, medianOf, precisionOf } from './comparison.js'
import type { MachineRates } from './machine_rates.js'

/** An implementation as it introduced itself, or why it did not take part. */
export interface ImplementationReport {
  readonly name: string
  readonly title: string
  readonly kind: 'executor' | 'baseline'
  readonly version: string | undefined
  readonly detail: string
  readonly participates: boolean
}

/** Everything a benchmark found out; what `--json` writes. */
export interface BenchReport {
  readonly date: string
  readonly machine: Readonly<Record<'processor' | 'system' | 'node' | 'memory', string>>
  /** Processes that wanted a core before the benchmark began: the system's load average over a minute, 0 on Windows. */
  readonly loadBefore: number
  /** The seed that drew networks. */
  readonly seed: number
  /** The instruction set of the executor; undefined if it has none. */
  readonly instructionSet?: InstructionSet | undefined
  readonly implementations: readonly ImplementationReport[]
  /** Rates behind the rooflines; a string states why they were not measured. */
  readonly rates: MachineRates | string
  readonly comparisons: readonly ComparisonResult[]
}

/** A network with our time over the time of the fastest other implementation. */
export interface NetworkRatio {
  readonly result: ComparisonResult
  readonly ms: number
  readonly best: { readonly name: string; readonly ms: number }
  readonly ratio: number
}

function executorOf({ implementations }: BenchReport): string {
  return implementations.find(({ kind }) => kind === 'executor')?.name ?? ''
}

/** Our time in reduced precision over that in float32, and over the fastest other implementation if there is one. */
export interface ReducedRatio {
  readonly result: ComparisonResult
  readonly overFloat32: number
  readonly overOther: number | undefined
}

/** The networks in reduced precision. */
export function reducedRatios(report: BenchReport): ReducedRatio[] {
  const executor = executorOf(report)
  return report.comparisons.flatMap((result) => {
    const ms = medianOf(result, executor)
    const float32 = medianOf(result, executor, 'float32')
    if (precisionOf(result) === 'float32' || ms === undefined || float32 === undefined) return []
    return [{ result, overFloat32: ms / float32, overOther: ratioOf(result, executor)?.ratio }]
  })
}

/** The ratios of networks in float32 that our executor and another implementation have run. */
export function networkRatios(report: BenchReport): NetworkRatio[] {
  const executor = executorOf(report)
  return report.comparisons.flatMap((result) => {
    const ratio = precisionOf(result) === 'float32' ? ratioOf(result, executor) : undefined
    return ratio === undefined ? [] : [ratio]
  })
}

function ratioOf(result: ComparisonResult, executor: string): NetworkRatio | undefined {
  const ms = medianOf(result, executor)
  const others = result.results.flatMap(({ series: { implementation: name } }) => {
    const other = name === executor ? undefined : medianOf(result, name)
    return other === undefined ? [] : [{ name, ms: other }]
  })
  if (ms === undefined || others.length === 0) return undefined
  const best = others.reduce((least, each) => (each.ms < least.ms ? each : least))
  return { result, ms, best, ratio: ms / best.ms }
}
