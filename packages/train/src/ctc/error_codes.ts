/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_CTC_LABELS_TOO_LONG: {
    meaning: 'a row has more labels than time steps, which TensorFlow refuses',
    remedy: "`ignoreLongerOutputsThanInputs: true`, `convention: 'pytorch'`, or more time steps",
  },
  ERR_CTC_LABELS: {
    meaning: 'labels are neither one array of integers per row nor a tensor with lengths',
    remedy: '`[[3, 1, 4], [1, 5]]`, or an int32 tensor `[B,S]` and `labelLengths`',
  },
  ERR_CTC_LOGITS: {
    meaning: 'logits to be decoded hold NaN',
    remedy: 'the message names the place; training with NaN losses leaves such weights',
  },
  ERR_CTC_SCORER: {
    meaning: 'the scorer of a beam search returned something else than a finite score or -∞',
    remedy: 'return `{ state, score }` from `extend` and a number from `end`, without a promise',
  },
  ERR_LANGUAGE_MODEL: {
    meaning: 'a value is not a saved n-gram model, or training sequences are not arrays of strings',
    remedy: 'pass the parsed JSON of a saved model; `train()` takes arrays of tokens',
  },
  ERR_TOP_PATHS: {
    meaning: 'more paths are requested than the beam holds',
    remedy: 'raise `beamWidth`, or lower `topPaths`',
  },
} as const

/** Codes of the errors that this package defines. */
export type CtcErrorCode = keyof typeof ERROR_CODES
