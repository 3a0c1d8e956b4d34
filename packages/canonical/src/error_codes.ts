/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_BROKEN_INVARIANT: {
    meaning: 'a value that the library relies on is missing: a defect of the library',
    remedy: 'report it with the message and the stack',
  },
  ERR_CANONICAL_COUNT: {
    meaning: 'a list of canonical tensors has another number than the network',
    remedy:
      'pass the result of `paramsToCanonical` of the same descriptor: `paramRegions(descriptor)` lists all tensors',
  },
  ERR_CANONICAL_DTYPE: {
    meaning: "a canonical tensor is not an array of the executor's type",
    remedy: '`Float32Array.from(data)`, or `Float64Array.from(data)` on a float64 executor',
  },
  ERR_CANONICAL_SIZE: {
    meaning: 'a canonical tensor has another number of elements than its region',
    remedy: 'weights are `[H,in]`, biases `[H]`; the message names layer, direction, side and gate',
  },
  ERR_GRU_RESET_BEFORE: {
    meaning: "a GRU applies its reset gate before the recurrent product: another function than cuDNN's",
    remedy: 'import it as a `GRUBlockCell`, or train it again with `reset_after=True`',
  },
  ERR_INVALID_ARGUMENT: {
    meaning: 'an argument is of the wrong kind',
    remedy: 'the message states which kind is needed',
  },
  ERR_INVALID_OPTION: {
    meaning: 'an argument or an option has a value that is not allowed',
    remedy: 'the message states which values are',
  },
  ERR_INVALID_OPTION_TYPE: {
    meaning: 'an option, or the options, are of the wrong kind',
    remedy: 'the message states which kind is needed',
  },
  ERR_MISSING_TENSOR: {
    meaning: "a framework's tensor is missing from its record",
    remedy: "name the tensors as the layout's `shapes` do",
  },
  ERR_NODE_REQUIRED: {
    meaning: 'a function that needs Node.js, such as one that opens files, was called in a browser',
    remedy: 'pass bytes, a `File` or a `ByteSource`: docs/browsers.md lists the features of a page',
  },
  ERR_NOT_LSTM: {
    meaning: 'an option that only an LSTM has was given for another cell',
    remedy: 'leave out `numProj`, `cellClip` or `forgetBias`',
  },
  ERR_PACKAGE_MISSING: {
    meaning: 'an optional package that this feature needs is not installed',
    remedy: 'install the package that the message names',
  },
  ERR_PARAMS_SIZE: {
    meaning: 'an opaque buffer has another number of elements than the network',
    remedy: 'use the buffer with the network and the executor that made it',
  },
  ERR_PARAMS_TOO_LARGE: {
    meaning: "the matrices have 2³¹ elements or more, beyond cuDNN's sizes, or there are more than 2¹⁶ pseudo-layers",
    remedy: 'use fewer units or layers',
  },
  ERR_SKIP_INPUT_SIZE: {
    meaning: '`skip_input` with inputSize ≠ numUnits',
    remedy: 'use `linear_input` or `auto_select`',
  },
  ERR_TENSOR_DTYPE: {
    meaning: "a framework's tensors are not all Float32Array or all Float64Array",
    remedy: 'convert them with `Float32Array.from(data)`',
  },
  ERR_TENSOR_GROUPS: {
    meaning: "there is another number of records of a framework's tensors than the network has groups",
    remedy: "one record for each cell, layer or module, as the layout's `groups` lists them",
  },
  ERR_TENSOR_SHAPE: {
    meaning: "a framework's tensor has another shape than its layout",
    remedy: 'the message states the shape that is needed',
  },
  ERR_UNKNOWN_OPTION: {
    meaning: 'unknown option',
    remedy: 'the message names the nearest one',
  },
  ERR_UNKNOWN_TENSOR: {
    meaning: 'a record holds a tensor that its layout does not have',
    remedy: 'leave it out, or rename it',
  },
  ERR_UNSUPPORTED_BY_FRAMEWORK: {
    meaning: 'a framework cannot hold this network',
    remedy: 'build the model with `linear_input`, both biases and no projection, as the message specifies',
  },
} as const

/** Codes of the errors that this package defines. */
export type CanonicalErrorCode = keyof typeof ERROR_CODES
