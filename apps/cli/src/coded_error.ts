/** An error of the command line with a stable `code`, which `--json` and tests read. */
export function codedRangeError(code: string, message: string, fields: Record<string, unknown> = {}): RangeError {
  return Object.assign(new RangeError(message), fields, { code })
}
