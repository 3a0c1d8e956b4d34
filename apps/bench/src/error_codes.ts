/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_IMPLEMENTATION: {
    meaning: 'a process that measures one implementation failed',
    remedy: 'the message holds its last output',
  },
  ERR_NO_EXECUTOR: {
    meaning: 'none of the executors to measure works here',
    remedy: 'see `cudnn-rnn doctor`',
  },
  ERR_TENSOR_FILE: {
    meaning: 'a file of tensors between two processes is damaged',
    remedy: 'run the benchmark again',
  },
} as const

/** Codes of the errors that this package defines. */
export type BenchErrorCode = keyof typeof ERROR_CODES
