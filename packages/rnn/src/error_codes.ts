/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_NO_ONNX_RUNTIME: {
    meaning: 'an ONNX file was opened without ONNX Runtime',
    remedy: "`import * as ort from 'onnxruntime-node'`, or from `onnxruntime-web`, and pass `{ ort }`",
  },
  ERR_UNKNOWN_BACKEND: {
    meaning: 'unknown executor',
    remedy: '`auto`, or one that the message names',
  },
  ERR_WEIGHTS_ALONE: {
    meaning:
      'a file was opened as a whole model, and has tensors alone; `networks` has the names of its recurrent networks',
    remedy: '`loadNetwork` for a network; `sequential` describes the layers around it',
  },
} as const

/** Codes of the errors that this package defines. */
export type FacadeErrorCode = keyof typeof ERROR_CODES
