/**
 * Rules of arguments, the errors of those that break them, and text from outside made visible. Internal: a part of the other
 * packages.
 *
 * @packageDocumentation
 */
export { type AbortSignalLike, abandonable, abortable, abortableItems, isAbort } from './abortable.js'
export { checkArguments, checkOptions, checkOptionValues, invalidOption, type OptionRules } from './check_arguments.js'
export { type CodedError, codedError, codedRangeError, codedTypeError, hasErrorCode } from './coded_error.js'
export { describeValue, thrownMessage } from './described_value.js'
export { elementCount } from './element_count.js'
export type { ErrorCode } from './error_code.js'
export { atEndOfTurn, inTurn, nextTurn } from './event_loop.js'
export { guarded, reportFailure } from './guarded.js'
export { arrayTypeOf, isBytes, isFloatArray, liveLength, ownView, wasTransferred, zerosLike } from './host_elements.js'
export { isJsonRecord, type Json, jsonObject, jsonRecord } from './json_record.js'
export { uniqueKerasName } from './keras_names.js'
export { unreadKerasOption } from './keras_options.js'
export { listIn, madeIn } from './list_in.js'
export { missingPackage } from './missing_package.js'
export { NamedError } from './named_error.js'
export { numberOfText } from './number_text.js'
export { checkIsObject, checkNames, checkOptionNames } from './option_names.js'
export { otherMethod, refuseOtherMethods } from './other_methods.js'
export { entryOf, required, zip } from './required.js'
export { isResponse, RESPONSE, RESPONSE_FIELDS } from './response_rules.js'
export {
  ANYTHING,
  type AnyRule,
  ASYNC_ITERABLE,
  BYTES,
  checkedElsewhere,
  DELAY_MS,
  either,
  FILE_PATH,
  FINITE,
  FLAG,
  FUNCTION,
  fields,
  hasMember,
  ITERABLE,
  integerFrom,
  integerIn,
  keyOf,
  kind,
  listOf,
  MAP,
  methods,
  NUMBER,
  NUMBERS,
  nullable,
  OBJECT,
  type OptionsOf,
  oneOf,
  optional,
  optionFields,
  PATH,
  POSITIVE,
  type Rule,
  recordOf,
  SECONDS,
  SHARE,
  SIGNAL,
  TEXT,
  typed,
  type ValueOf,
  where,
} from './rule.js'
export { visibleJson, visibleLines, visibleMessage, visibleText } from './visible_text.js'
