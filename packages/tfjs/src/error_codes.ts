/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_TFJS_ACCELERATED: {
    meaning: 'this TensorFlow.js is accelerated already',
    remedy: '`dispose()` the result of the first `accelerate`',
  },
  ERR_TFJS_BACKEND: {
    meaning: 'the executor cannot compute while TensorFlow.js waits, or not in float32',
    remedy: 'open `cpu`, `wasm`, `reference` or `cudnn` with dtype float32',
  },
  ERR_TFJS_MODULE: {
    meaning: 'the first argument is not TensorFlow.js with its layers',
    remedy: "pass the whole module: `import * as tf from '@tensorflow/tfjs'`",
  },
  ERR_TFJS_SECOND_ORDER: {
    meaning: 'a gradient of a gradient passes through an accelerated layer',
    remedy: '`dispose()` the acceleration where second-order gradients are computed',
  },
} as const

/** Codes of the errors that this package defines. */
export type TfjsErrorCode = keyof typeof ERROR_CODES
