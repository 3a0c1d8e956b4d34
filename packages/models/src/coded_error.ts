import { codedErrors } from '@cudnn-rnn/canonical/rules'
import type { CanonicalErrorCode } from '@cudnn-rnn/canonical'
import type { ExecutorErrorCode } from '@cudnn-rnn/ops/executor'
import type { ModelErrorCode } from './error_codes.js'

/** Makers of the errors of this package: the compiler refuses codes that are in no table of codes. */
export const { codedError, codedRangeError, codedTypeError } = codedErrors<
  ModelErrorCode | CanonicalErrorCode | ExecutorErrorCode
>()
