import { codedErrors } from '@cudnn-rnn/canonical/rules'
import type { CanonicalErrorCode } from '@cudnn-rnn/canonical'
import type { SaveableErrorCode } from './error_codes.js'

/**
 * Makers of the errors of this package: the compiler refuses codes that are in no table of codes. `ERR_DTYPE` is a code of
 * the executors, which this package does not import.
 */
export const { codedRangeError, codedTypeError } = codedErrors<SaveableErrorCode | CanonicalErrorCode | 'ERR_DTYPE'>()
