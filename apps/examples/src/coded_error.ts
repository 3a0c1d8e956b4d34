/** An error of an example with a stable `code`. */
export function codedRangeError(code: string, message: string, fields: Record<string, unknown> = {}): RangeError {
  return Object.assign(new RangeError(message), fields, { code })
}
