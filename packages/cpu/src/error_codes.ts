/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_CPU_OPERATION: {
    meaning: 'an operation of the cpu executor failed; `cause` states why',
    remedy: 'please report it',
  },
} as const

/** Codes of the errors that this package defines. */
export type CpuErrorCode = keyof typeof ERROR_CODES
