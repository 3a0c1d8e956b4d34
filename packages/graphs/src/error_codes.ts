/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_GRAPH_BATCH_FIXED: {
    meaning: 'a graph computes a fixed number of rows, and a pool or a sequence needs any number',
    remedy: 'export the model with a batch of any size, or use a stream for each caller',
  },
  ERR_GRAPH_CLOSED: {
    meaning: 'a graph or a stream of it was disposed',
    remedy: 'open it again',
  },
  ERR_GRAPH_FIXED: {
    meaning: 'the option `fixed` has a name or a value that the graph does not have',
    remedy: 'the message lists the inputs and the open sizes',
  },
  ERR_GRAPH_INPUT: {
    meaning: 'an input of a graph is missing, unknown, or has another type or shape',
    remedy: '`inputs` of the graph lists them',
  },
  ERR_GRAPH_NOT_ROWWISE: {
    meaning: 'the rows of a batch are not computed apart from each other',
    remedy: 'use a stream for each caller',
  },
  ERR_GRAPH_NOT_STREAMING: {
    meaning:
      'a graph without a state that a stream could carry, or with a node that reads the whole sequence; the message names it',
    remedy: 'use `run` on whole sequences, or name the states by the option `states`',
  },
  ERR_GRAPH_OPEN_SIZE: {
    meaning: 'a pool or a sequence needs inputs of one size, and the file leaves one open',
    remedy: 'fix it by its name: `fixed: { sequence: 576 }`',
  },
  ERR_GRAPH_RUNTIME: {
    meaning: 'ONNX Runtime failed; `cause` is its error',
    remedy: 'look at `cause`; the states of streams are as they were',
  },
  ERR_GRAPH_STATE: {
    meaning: 'a state was fed by the caller, or does not fit',
    remedy: 'use `restore` with a result of `state`',
  },
  ERR_GRAPH_STATES_AMBIGUOUS: {
    meaning: 'inputs and outputs of a graph can be paired to states in several ways; `candidates` lists them',
    remedy: "name the pairs: `states: { input: 'output' }`, or 'none'",
  },
  ERR_GRAPH_UNSUPPORTED: {
    meaning: 'a legal ONNX file or a use of a graph that is not supported; the message names the reason',
    remedy: 'save the model with dense tensors, and with inputs and outputs of float32 and the batch on the first axis',
  },
} as const

/** Codes of the errors that this package defines. */
export type GraphsErrorCode = keyof typeof ERROR_CODES
