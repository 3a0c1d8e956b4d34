import type { BenchReport } from './bench_report.js'

/** Above this, others used the machine before the benchmark, and so probably during it. */
const QUIET_LOAD = 0.5

/** A sentence to go with times from a machine that was not quiet; nothing otherwise. */
export function loadNote({ loadBefore }: Pick<BenchReport, 'loadBefore'>): string[] {
  if (loadBefore <= QUIET_LOAD) return []
  return [`The machine was not quiet before the run (load ${loadBefore.toFixed(1)}): times and ratios may be off.`]
}
