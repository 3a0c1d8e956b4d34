import { type CodedError, codedRangeError, codedTypeError, hasErrorCode } from './coded_error.js'
import { describeValue } from './described_value.js'
import type { ErrorCode } from './error_code.js'
import { checkNames, choiceAdvice, unknownOption } from './option_names.js'
import type { AnyRule, Fault, Rule } from './rule.js'

type Values = Readonly<Record<string, unknown>>
type Rules = Readonly<Record<string, AnyRule>>

/**
 * A rule for each option: if the type of the options is known, the compiler refuses a table that lacks one, has another
 * or has one for values of another kind.
 */
export type OptionRules<Options> = keyof Options extends never
  ? Rules
  : { readonly [Name in keyof Options]-?: Rule<Options[Name]> }

/**
 * Checks arguments by their names, before anything is done with them.
 *
 * @param action the caller's operation: completes "Cannot <action> as …".
 * @throws TypeError `ERR_INVALID_ARGUMENT` for a value of another kind, RangeError `ERR_INVALID_OPTION` for one that is not
 *   allowed; both with `argument` (the place that is wrong) and `value`
 */
export function checkArguments(action: string, values: Values, rules: Rules): void {
  check('ERR_INVALID_ARGUMENT', action, values, rules)
}

/**
 * Checks the fields of an options object: their names and their values.
 *
 * @returns the values that were checked, each of which is read once: a getter may give another one later
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`; with `option` and
 *   `value`
 */
export function checkOptions<Options extends object>(
  action: string,
  options: Options,
  rules: OptionRules<NoInfer<Options>>,
): Options {
  checkNames(action, options, Object.keys(rules))
  const checked = {}
  check('ERR_INVALID_OPTION_TYPE', action, options as Values, rules as Rules, checked)
  return checked as Options
}

/** Like {@link checkOptions}, of options whose names were checked and that have rules elsewhere too. */
export function checkOptionValues(action: string, options: object, rules: Rules): void {
  check('ERR_INVALID_OPTION_TYPE', action, options as Values, rules)
}

/** Checks values, and copies them into `checked`. Without closures: a call of a small network takes a few microseconds. */
function check(
  kindCode: ErrorCode,
  action: string,
  values: Values,
  rules: Rules,
  checked?: Record<string, unknown>,
): void {
  for (const name of Object.keys(rules)) {
    let fault: Fault | undefined
    try {
      const value = values[name]
      if (checked !== undefined && value !== undefined) checked[name] = value
      fault = rules[name].find(value, name)
    } catch (cause) {
      // A getter of the caller may throw, and a revoked proxy does: the value is refused as one of another kind.
      if (hasErrorCode(cause)) throw cause
      const message = `Cannot ${action} as ${name} cannot be read`
      throw codedTypeError(kindCode, message, { argument: name, option: name, cause })
    }
    if (fault !== undefined) throw refusal(kindCode, action, fault)
  }
}

function refusal(kindCode: ErrorCode, action: string, fault: Fault): Error {
  const { path, words, value, isOtherKind, code, unknown, advice } = fault
  if (unknown !== undefined) return unknownOption(action, path, unknown)
  const message = ruleMessage(action, path, words, value, advice)
  const fields = { argument: path, option: path, value }
  return isOtherKind
    ? codedTypeError(kindCode, message, fields)
    : codedRangeError(code ?? 'ERR_INVALID_OPTION', message, fields)
}

/**
 * Makes the `RangeError` `ERR_INVALID_OPTION` of an option, with `option` and `value`.
 *
 * @param rule completes "must be …"; or the texts that it may be
 */
export function invalidOption(
  action: string,
  option: string,
  rule: string | readonly string[],
  value: unknown,
): CodedError<RangeError> {
  const [words, advice] = typeof rule === 'string' ? [rule] : [`one of ${rule.join(', ')}`, choiceAdvice(value, rule)]
  return codedRangeError('ERR_INVALID_OPTION', ruleMessage(action, option, words, value, advice), { option, value })
}

function ruleMessage(action: string, path: string, words: string, value: unknown, advice: string | undefined): string {
  const end = advice === undefined ? '' : `. ${advice}`
  return `Cannot ${action} as ${path} must be ${words}: current value is ${describeValue(value)}${end}`
}
