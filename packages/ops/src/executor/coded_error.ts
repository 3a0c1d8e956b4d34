import { codedErrors } from '@cudnn-rnn/canonical/rules'
import type { CanonicalErrorCode } from '@cudnn-rnn/canonical'
import type { ExecutorErrorCode } from './error_codes.js'

/** Makers of the errors of this package: the compiler refuses codes that are in no table of codes. */
export const { codedError, codedRangeError, codedTypeError } = codedErrors<ExecutorErrorCode | CanonicalErrorCode>()
