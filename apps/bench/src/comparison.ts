import type { Roofline } from './roofline.js'
import type { Spread } from './statistics.js'
import type { Pass, Workload } from './workload.js'

/** The type of the factors of products; int8 is dynamic quantization. */
export type Precision = 'float32' | 'bfloat16' | 'int8'

/** One way of running a comparison's workload. */
export interface Series {
  /** Name in the table of implementations. */
  readonly implementation: string
  readonly threads: number
  readonly precision: Precision
  readonly pass: Pass
}

/** Series that run the same workload in turns, and so can be compared. */
export interface Comparison {
  /** "grid/lstm/inference/8x50x100/2": where it is from, cell, pass, B × T × H and threads. */
  readonly id: string
  readonly workload: Workload
  readonly seriesList: readonly Series[]
}

/** What became of a series. Times are in milliseconds. */
export type Outcome =
  | { readonly status: 'measured'; readonly spread: Spread; readonly difference: number | undefined }
  /** Not run: it cannot, or it would take longer than a run may. */
  | { readonly status: 'skipped'; readonly reason: string }
  | { readonly status: 'failed'; readonly reason: string }
  /** Refused, as it computed other numbers than the first series. */
  | { readonly status: 'differs'; readonly difference: number }

export interface SeriesResult {
  readonly series: Series
  readonly outcome: Outcome
}

export interface ComparisonResult extends Omit<Comparison, 'seriesList'> {
  /** The least that this machine could take; absent if its rates are unknown. */
  readonly roofline?: Roofline
  readonly results: readonly SeriesResult[]
}

/** The precision of a comparison; its first series may be ours in float32. */
export function precisionOf({ results }: ComparisonResult): Precision {
  // Reports before reduced precision do not have it.
  return results.at(-1)?.series.precision ?? 'float32'
}

/** Median of an implementation, in milliseconds; undefined if it was not measured. */
export function medianOf(result: ComparisonResult, name: string, precision = precisionOf(result)): number | undefined {
  const outcome = result.results.find(
    ({ series }) => series.implementation === name && (series.precision ?? 'float32') === precision,
  )?.outcome
  return outcome?.status === 'measured' ? outcome.spread.median : undefined
}
