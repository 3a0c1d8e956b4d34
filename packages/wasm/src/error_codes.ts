/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_WASM_OPERATION: {
    meaning: 'an operation of the wasm executor trapped; `cause` is the error of the engine',
    remedy: 'please report it',
  },
} as const

/** Codes of the errors that this package defines. */
export type WasmErrorCode = keyof typeof ERROR_CODES
