import { codedErrors } from '@cudnn-rnn/canonical/rules'
import type { TfjsErrorCode } from './error_codes.js'

/** Makers of the errors of this package: the compiler refuses codes that are in no table of codes. */
export const { codedRangeError, codedTypeError } = codedErrors<TfjsErrorCode>()
