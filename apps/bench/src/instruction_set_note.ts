import type { BenchReport } from './bench_report.js'

/** A sentence that says what the contestants were held to; nothing where each took the best that it found. */
export function instructionSetNote({ settings }: Pick<BenchReport, 'settings'>): string[] {
  if (settings.instructionSet === undefined) return []
  return [`Held to the instruction set ${settings.instructionSet}, where a contestant can be.`]
}
