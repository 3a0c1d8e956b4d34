import { type CanonicalErrorCode, codedErrors } from '@cudnn-rnn/canonical'

/** Makers of the errors of this package: the compiler refuses codes that are in no table of codes. */
export const { codedRangeError } = codedErrors<CanonicalErrorCode>()
