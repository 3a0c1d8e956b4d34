import { codedErrors } from './coded_error.js'

/** Codes of arguments that break their rules: @cudnn-rnn/canonical has their meanings. */
export type ArgumentErrorCode =
  | 'ERR_HYPERPARAMETER'
  | 'ERR_INVALID_ARGUMENT'
  | 'ERR_INVALID_OPTION'
  | 'ERR_INVALID_OPTION_TYPE'
  | 'ERR_UNKNOWN_OPTION'

/** Makers of the errors of this package. */
export const { codedRangeError, codedTypeError } = codedErrors<ArgumentErrorCode>()
