/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_BEING_TRAINED: {
    meaning: 'a second `fit` of a model, or of its variables, while one is running',
    remedy: 'await the first; `predict` and `evaluate` may run beside it',
  },
  ERR_BACKEND_DISPOSED: {
    meaning: 'an executor was used after `dispose()`',
    remedy: 'open another one',
  },
  ERR_BIDIRECTIONAL_STREAM: {
    meaning: 'a stream of a bidirectional network, which needs the whole sequence',
    remedy: 'use `call()`',
  },
  ERR_BUFFER_IN_USE: {
    meaning: 'a buffer that an executor or a communicator works in was to be transferred',
    remedy: 'transfer a `slice()` of the array',
  },
  ERR_CTC_BLANK: {
    meaning: 'the blank of a CTC loss or decoder is not a class',
    remedy: "`'last'`, `'first'` or a number in 0…K-1",
  },
  ERR_CTC_LABEL: {
    meaning: 'a label of a CTC loss is the blank, or outside 0…K-1',
    remedy: 'number the labels around the blank; the message names the position',
  },
  ERR_DROPOUT_STATE: {
    meaning: 'bytes are not a dropout state of this kind of executor',
    remedy: 'restore a result of `dropoutState()` of the same kind of executor',
  },
  ERR_DTYPE: {
    meaning: 'a tensor has another element type than the executor',
    remedy: "`Float32Array.from(data)`, or open the executor with `{ dtype: 'float64' }`",
  },
  ERR_EMPTY_BATCH: {
    meaning: 'a sequence without steps, or a batch without rows',
    remedy: 'pass at least one of each',
  },
  ERR_FOREIGN_TENSOR: {
    meaning: 'a tensor belongs to another executor',
    remedy: '`await tensor.read()` and pass the host tensor',
  },
  ERR_HYPERPARAMETER: {
    meaning: 'a rate, limit or coefficient is not a number in its range',
    remedy: 'the message states the range',
  },
  ERR_ID_OUT_OF_RANGE: {
    meaning: 'an id or a label is outside 0…count-1',
    remedy: 'the message names the position',
  },
  ERR_NOT_A_TENSOR: {
    meaning: 'a value is not a tensor',
    remedy: '`{ data: typed array, shape: number[] }`, or a tensor of the executor',
  },
  ERR_NO_CELL_STATE: {
    meaning: 'a cell state for a cell that has none',
    remedy: 'leave out `inputC` and `outputC`',
  },
  ERR_NOT_AWAITED: {
    meaning: 'a call on a tape was not awaited before its result was used, or before the function ended',
    remedy: '`await` the calls that return promises, such as `lstm.run(t, …)`',
  },
  ERR_NO_GRADIENT: {
    meaning: 'an operation has no gradient with respect to an operand that is differentiated',
    remedy: 'pass `t.stopGradient(x)` where the operand is a constant',
  },
  ERR_NO_TAPE: {
    meaning: '`gradients()` of an inference',
    remedy: 'call with `isTraining: true`, the default',
  },
  ERR_OTHER_LAYOUT: {
    meaning: 'parameters of one model were passed to another',
    remedy: 'create them with the same model, or convert through canonical tensors',
  },
  ERR_OUT_OF_MEMORY: {
    meaning: 'the host refused an allocation; `requestedBytes` where it is known',
    remedy: 'use smaller batches, or dispose tensors and tapes that are not needed',
  },
  ERR_RNN_DISPOSED: {
    meaning: 'a network or model was used after `dispose()`',
    remedy: 'make another one: the parameters are still valid',
  },
  ERR_SECOND_ORDER: {
    meaning: 'a value of one tape was used on another, or differentiated again: gradients have no gradients',
    remedy: 'compute it on the same tape, or take it out with `infer` as a constant',
  },
  ERR_SEQUENCE_LENGTHS: {
    meaning: 'a length is not an integer in 0…T, or there is not one per row',
    remedy: 'lengths may come in any order, 0 included',
  },
  ERR_SHAPE: {
    meaning: 'a tensor has another shape than is needed',
    remedy: 'sequences are time-major `[T,B,I]`, states `[L·D,B,H]`',
  },
  ERR_SHARED_TENSOR: {
    meaning: 'an operation was to write a tensor that other threads read',
    remedy: 'write a copy, share that, and send the new handle',
  },
  ERR_STREAM_DISPOSED: {
    meaning: 'a stream was used after `dispose()`',
    remedy: 'open another one',
  },
  ERR_STREAM_ROW: {
    meaning: 'a row of a stream is outside 0…batch-1, or named twice in a step',
    remedy: 'pass an array of row numbers',
  },
  ERR_TAPE_CONSUMED: {
    meaning: 'a tape was used twice',
    remedy: 'run the forward again: a tape serves one backward',
  },
  ERR_TAPE_DISPOSED: {
    meaning: 'a tape was used after `dispose()`',
    remedy: 'run the forward again',
  },
  ERR_TAPE_FOREIGN: {
    meaning: 'a tape belongs to another network or executor',
    remedy: 'pass the tape to the model that returned it',
  },
  ERR_TAPE_STALE: {
    meaning: 'parameters or input were overwritten between forward and backward',
    remedy: 'call `gradients()` before the update',
  },
  ERR_TENSOR_DISPOSED: {
    meaning: 'a tensor was used after `dispose()`',
    remedy: 'keep it alive until the last `read()`',
  },
  ERR_TENSOR_TRANSFERRED: {
    meaning: 'the buffer of a tensor was transferred or resized',
    remedy: 'transfer a `slice()` of the array',
  },
  ERR_TIME_STEPS: {
    meaning: 'more than 65,535 time steps, which cuDNN refuses',
    remedy: 'split the sequence and carry the state',
  },
} as const

/** Codes of the errors that this package defines. */
export type ExecutorErrorCode = keyof typeof ERROR_CODES
