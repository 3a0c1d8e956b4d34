import type { BenchReport } from './bench_report.js'

/** A sentence that names the instruction set to which implementations were limited; empty without a limit. */
export function instructionSetNote({ settings }: Pick<BenchReport, 'settings'>): string[] {
  if (settings.instructionSet === undefined) return []
  return [`Held to the instruction set ${settings.instructionSet}, where an implementation can be.`]
}
