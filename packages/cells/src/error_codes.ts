/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_CELL_BUILT: {
    meaning: 'a cell was built for another input size',
    remedy: 'make another cell',
  },
  ERR_EMPTY_SEQUENCE: {
    meaning: 'a sequence without time steps',
    remedy: 'pass at least one step',
  },
  ERR_SEQUENCE_LAYOUT: {
    meaning: 'a sequence is a list where one tensor is needed, or the reverse',
    remedy: 'pass gradients in the form of the inputs',
  },
  ERR_STATE_STRUCTURE: {
    meaning: 'a state has another structure than the cell',
    remedy: "pass the result of the cell's `zeroState()` or last call",
  },
} as const

/** Codes of the errors that this package defines. */
export type CellErrorCode = keyof typeof ERROR_CODES
