/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_CLASSES: {
    meaning: 'there are fewer than two classes with enough texts',
    remedy: 'give more texts of each class',
  },
  ERR_COVARIATES: {
    meaning: 'a series lacks a covariate of the forecaster, or numbers of it',
    remedy: 'give one number for each step; of a covariate that is known ahead also for the steps to forecast',
  },
  ERR_NOT_A_CLASSIFIER: {
    meaning: 'a path holds no text classifier',
    remedy: 'name what `save` was given, or the directory of a run of `cudnn-rnn classify` that has ended',
  },
  ERR_NOT_A_FORECASTER: {
    meaning: 'a path holds no forecaster',
    remedy: 'name what `save` was given, or the directory of a run of `cudnn-rnn forecast` that has ended',
  },
  ERR_SERIES: {
    meaning:
      'a series has no values, infinite or huge ones, tiny ones alone, no dates where the forecaster needs them, or a part whose values are all missing',
    remedy: 'mark missing values by NaN; scale huge and tiny values; give one date for each value',
  },
  ERR_SERIES_TOO_SHORT: {
    meaning: 'a series has too few values for its windows',
    remedy: 'use a shorter season or window, or more data',
  },
} as const

/** Codes of the errors that this package defines. */
export type TasksErrorCode = keyof typeof ERROR_CODES
