/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_UNKNOWN_BACKEND: {
    meaning: 'unknown executor',
    remedy: '`auto`, or one that the message names',
  },
} as const

/** Codes of the errors that this package defines. */
export type FacadeErrorCode = keyof typeof ERROR_CODES
