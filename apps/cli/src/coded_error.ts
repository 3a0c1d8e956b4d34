import { codedErrors } from '@cudnn-rnn/arguments'
import type { FilesErrorCode } from '@cudnn-rnn/files'
import type { ErrorCode } from '@cudnn-rnn/rnn'
import type { CliErrorCode } from './error_codes.js'

/** Makers of the errors of this package: the compiler refuses codes that are in no table of codes. */
export const { codedRangeError } = codedErrors<CliErrorCode | FilesErrorCode | ErrorCode>()
