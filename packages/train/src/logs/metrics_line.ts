import type { StepReport } from '../loop/fit.js'

/** A step as one line of JSON lines, without its end; numbers that JSON lacks become "NaN", "Infinity", "-Infinity". */
export function metricsLine(report: StepReport): string {
  return JSON.stringify(report, (_, value) =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : (value as unknown),
  )
}
