import type { InstructionSet } from '@cudnn-rnn/rnn/executors'
import { type ComparisonResult, medianOf } from './comparison.js'
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

/** The ratios of networks that our executor and another implementation have run. */
export function networkRatios({ implementations, comparisons }: BenchReport): NetworkRatio[] {
  const executor = implementations.find(({ kind }) => kind === 'executor')?.name ?? ''
  return comparisons.flatMap((result) => {
    const ms = medianOf(result, executor)
    const others = result.results.flatMap(({ series: { implementation: name } }) => {
      const other = name === executor ? undefined : medianOf(result, name)
      return other === undefined ? [] : [{ name, ms: other }]
    })
    if (ms === undefined || others.length === 0) return []
    const best = others.reduce((least, each) => (each.ms < least.ms ? each : least))
    return [{ result, ms, best, ratio: ms / best.ms }]
  })
}
