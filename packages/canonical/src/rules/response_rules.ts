import { FLAG, fields, integerFrom, methods, TEXT, type ValueOf } from './rule.js'

/** The used methods of a `Response` of `fetch`. */
export const RESPONSE = methods('a Response', 'blob', 'arrayBuffer')
/** Its used fields. */
export const RESPONSE_FIELDS = fields({ ok: FLAG, status: integerFrom(0), url: TEXT })

/** True for a value that follows both rules. */
export function isResponse(value: unknown): value is ValueOf<typeof RESPONSE_FIELDS> & { blob(): Promise<unknown> } {
  return [RESPONSE, RESPONSE_FIELDS].every((rule) => rule.find(value, 'value') === undefined)
}
