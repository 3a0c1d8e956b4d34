/**
 * Rules of arguments, and the errors of those that break them. Private: products have this in their builds.
 *
 * @packageDocumentation
 */
export { checkArguments, checkOptions, checkOptionValues } from './check_arguments.js'
export { type CodedError, type CodedErrors, codedErrors, hasErrorCode } from './coded_error.js'
export { describeValue } from './described_value.js'
export { elementCount } from './element_count.js'
export { arrayTypeOf, liveLength, ownView, wasTransferred } from './host_elements.js'
export { checkIsObject, checkNames, checkOptionNames } from './option_names.js'
export { entryOf, required, zip } from './required.js'
export { isResponse, RESPONSE, RESPONSE_FIELDS } from './response_rules.js'
export {
  ANYTHING,
  ASYNC_ITERABLE,
  BYTES,
  either,
  type Fault,
  FINITE,
  FLAG,
  FUNCTION,
  fields,
  ITERABLE,
  integerFrom,
  integerIn,
  kind,
  listOf,
  MAP,
  methods,
  NUMBER,
  NUMBERS,
  nullable,
  OBJECT,
  oneOf,
  optional,
  PATH,
  POSITIVE,
  type Rule,
  recordOf,
  TEXT,
  where,
} from './rule.js'
