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
  ERR_WASM_ENDED: {
    meaning: 'a thread of the wasm executor failed inside an operation, which ended the executor; `cause` is the error',
    remedy: 'open another backend; memory that ran out on several threads may suffice for one',
  },
} as const

/** Codes of the errors that this package defines. */
export type WasmErrorCode = keyof typeof ERROR_CODES
