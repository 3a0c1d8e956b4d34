/** `noted` is an answer that nothing was expected of; `skipped` says in `measured` why nothing was asked. */
export type Verdict = 'pass' | 'fail' | 'noted' | 'skipped'

/** One line of the results: one question to the device, and its answer. */
export interface Outcome {
  /** "6.3": section and number in the checklist; or the name of a part. */
  readonly id: string
  readonly what: string
  readonly expected: string
  readonly measured: unknown
  readonly verdict: Verdict
}

export type Report = (outcome: Outcome) => void

/** An outcome that passes where `holds`. */
export function judged(id: string, what: string, expected: string, measured: unknown, holds: boolean): Outcome {
  return { id, what, expected, measured, verdict: holds ? 'pass' : 'fail' }
}

/** An answer to remember. */
export function noted(id: string, what: string, measured: unknown): Outcome {
  return { id, what, expected: 'unknown', measured, verdict: 'noted' }
}

export function skipped(id: string, what: string, reason: string): Outcome {
  return { id, what, expected: '', measured: reason, verdict: 'skipped' }
}

/** Status name, code or message of whatever was thrown. */
export function nameOf(error: unknown): string {
  const { statusName, code, message } = error as { statusName?: string; code?: string; message?: string }
  return statusName || code || message || String(error)
}
