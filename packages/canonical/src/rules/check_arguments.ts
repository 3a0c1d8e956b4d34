import { type CodedError, codedRangeError, codedTypeError, hasErrorCode } from './coded_error.js'
import { describeValue } from './described_value.js'
import type { ErrorCode } from './error_code.js'
import { checkNames, choiceAdvice, unknownOption } from './option_names.js'
import type { AnyRule, Fault, Kept, Rule } from './rule.js'

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
 * @returns the values that were checked: arrays and plain objects are copies, as a getter may give another value at the
 *   next read
 * @throws TypeError `ERR_INVALID_ARGUMENT` for a value of another kind, RangeError `ERR_INVALID_OPTION` for one that is not
 *   allowed; both with `argument` (the place that is wrong) and `value`
 */
export function checkArguments<Given extends Values>(action: string, values: Given, rules: Rules): Given {
  return check('ERR_INVALID_ARGUMENT', action, values, rules)
}

/**
 * Checks the fields of an options object: their names and their values.
 *
 * @returns the values that were checked, as those of {@link checkArguments}
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`; with `option` and
 *   `value`
 */
export function checkOptions<Options extends object>(
  action: string,
  options: Options,
  rules: OptionRules<NoInfer<Options>>,
): Options {
  checkNames(action, options, Object.keys(rules))
  return check('ERR_INVALID_OPTION_TYPE', action, options, rules as Rules)
}

/** Like {@link checkOptions}, of options whose names were checked and that have rules elsewhere too. */
export function checkOptionValues<Options extends object>(action: string, options: Options, rules: Rules): Options {
  return check('ERR_INVALID_OPTION_TYPE', action, options, rules)
}

/** Checks values, and returns the checked ones. Without closures: a call of a small network takes a few microseconds. */
function check<Given extends object>(kindCode: ErrorCode, action: string, values: Given, rules: Rules): Given {
  const checked: Record<string, unknown> = {}
  const kept: Kept = { value: undefined }
  for (const name of Object.keys(rules)) {
    let fault: Fault | undefined
    try {
      kept.value = (values as Values)[name]
      fault = rules[name].find(kept.value, name, kept)
      if (kept.value !== undefined) checked[name] = kept.value
    } catch (cause) {
      // A getter of the caller may throw, and a revoked proxy does: the value is refused as one of another kind.
      if (hasErrorCode(cause)) throw cause
      const message = `Cannot ${action} as ${name} cannot be read`
      throw codedTypeError(kindCode, message, { argument: name, option: name, cause })
    }
    if (fault !== undefined) throw refusal(kindCode, action, fault)
  }
  return checked as Given
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
