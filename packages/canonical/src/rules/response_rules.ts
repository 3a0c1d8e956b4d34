import { FLAG, fields, integerFrom, methods, TEXT } from './rule.js'

/** The used methods of a `Response` of `fetch`. */
export const RESPONSE = methods('a Response', 'blob', 'arrayBuffer')
/** Its used fields. */
export const RESPONSE_FIELDS = fields({ ok: FLAG, status: integerFrom(0), url: TEXT })

interface UsedMembers {
  readonly ok: boolean
  readonly status: number
  readonly url: string
  blob(): Promise<unknown>
}

/** True for a value that follows both rules. */
export function isResponse(value: unknown): value is UsedMembers {
  return [RESPONSE, RESPONSE_FIELDS].every((rule) => rule.find(value, 'value') === undefined)
}
