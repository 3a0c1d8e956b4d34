import { codedErrors } from '@cudnn-rnn/canonical/rules'
import type { ErrorCode } from '@cudnn-rnn/rnn'

/** Makers of the errors of this package: the compiler refuses codes that are in no table of codes. */
export const { codedRangeError } = codedErrors<ErrorCode>()
