import type { Pass, Workload } from './workload.js'

/** The part of the report a comparison belongs to. */
export type Section = 'table' | 'step' | 'streaming' | 'threads' | 'weights' | 'busy' | 'space'

/** How an executor keeps its weights. */
export type WeightType = 'float32' | 'bfloat16' | 'int8'

/** One way of running a comparison's workload. */
export interface Series {
  /** Name in the table of implementations. */
  readonly implementation: string
  readonly threads: number
  readonly weights: WeightType
  readonly pass: Pass
  /** Whether another process loads every core meanwhile. */
  readonly busy: boolean
}

/** Series that run the same workload in turns, and so can be compared. */
export interface Comparison {
  readonly id: string
  readonly section: Section
  readonly workload: Workload
  readonly seriesList: readonly Series[]
}

/** The label of a series in tables: "cpu", "cpu, 1 thread", "cpu, int8", "cpu, busy machine", "cpu, step by step". */
export function seriesName(series: Series, section: Section): string {
  const traits = [
    section === 'threads' ? `${series.threads} thread${series.threads === 1 ? '' : 's'}` : '',
    series.weights === 'float32' ? '' : series.weights,
    series.busy ? 'busy machine' : '',
    series.pass === 'streaming' ? 'step by step' : '',
  ]
  return [series.implementation, ...traits.filter((trait) => trait !== '')].join(', ')
}
