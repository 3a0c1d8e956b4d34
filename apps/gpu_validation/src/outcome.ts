import { thrownMessage } from '@cudnn-rnn/canonical/rules'
/** `noted` is a measurement without an expected value; a `skipped` check gives the reason in `measured`. */
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

/** An outcome that passes if `holds`. */
export function judged(id: string, what: string, expected: string, measured: unknown, holds: boolean): Outcome {
  return { id, what, expected, measured, verdict: holds ? 'pass' : 'fail' }
}

/** A result to record. */
export function noted(id: string, what: string, measured: unknown): Outcome {
  return { id, what, expected: 'unknown', measured, verdict: 'noted' }
}

export function skipped(id: string, what: string, reason: string): Outcome {
  return { id, what, expected: '', measured: reason, verdict: 'skipped' }
}

/** Whether the process can no longer use its device: set by {@link nameOf}, read after each item of a section. */
export const device = { isLost: false }

/** True for the failure after which only another process can use the device. */
export function isDeviceLost(error: unknown): boolean {
  return (error as { code?: string } | undefined)?.code === 'ERR_DEVICE_LOST'
}

/** Status name, code or message of a thrown value; notes a lost device. */
export function nameOf(error: unknown): string {
  if (isDeviceLost(error)) device.isLost = true
  const { statusName, code, message } = error as { statusName?: string; code?: string; message?: string }
  return statusName || code || message || thrownMessage(error)
}
