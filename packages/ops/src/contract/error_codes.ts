/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_BACKEND_UNAVAILABLE: {
    meaning: 'the executor you named cannot work here; `attempts` states why',
    remedy: "use `openBackend('auto')`, or follow the advice in the message",
  },
} as const

/** Codes of the errors that this package defines. */
export type BackendErrorCode = keyof typeof ERROR_CODES
