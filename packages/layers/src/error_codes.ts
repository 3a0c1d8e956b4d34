/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_LAYERS_DO_NOT_FIT: {
    meaning: 'a layer, or the loss, cannot take the output of the layer before it',
    remedy: 'the message names both and their shapes',
  },
  ERR_NOT_A_LAYER: {
    meaning: 'an argument of `sequential`, `concat` or `timeDistributed` is not a layer',
    remedy: 'pass results of dense(…), cudnnLSTM(…), …',
  },
  ERR_UNKNOWN_LAYER: {
    meaning: 'a file describes an unknown layer, or one with an unknown option',
    remedy: 'the message names it; build the model by hand and load the weights alone',
  },
  ERR_UNKNOWN_INPUT: {
    meaning: 'the input size of the model is unknown',
    remedy: 'begin with an embedding, or give `inputSize`',
  },
  ERR_MODEL_GRAPH: {
    meaning:
      'the values of `functional` or `merge` make no model: an input is missing or is none, or names are not different',
    remedy: 'the message names the value',
  },
  ERR_MODEL_INPUTS: {
    meaning: 'tensors, lengths or labels of a model of several inputs or outputs are not given by their names',
    remedy: 'the message lists the names',
  },
  ERR_LAYER_TAPE: {
    meaning: 'the tape is of another layer, or was consumed or disposed',
    remedy: 'each call() makes a tape for one gradients()',
  },
  ERR_LAYER_STATES: {
    meaning: 'the states are not those of this model',
    remedy: 'pass the `states` of an earlier `call`',
  },
  ERR_NO_STREAM: {
    meaning: 'a layer of the model needs the whole sequence',
    remedy: 'use `predict`',
  },
  ERR_NO_LOSS: {
    meaning:
      'evaluation or decoding has no loss: none was given, and the model was not trained (with `ctc`, for decoding)',
    remedy: 'pass `loss`',
  },
  ERR_EXAMPLE: {
    meaning: 'an example or a batch does not fit the model or its loss',
    remedy: 'the message names the expected shape',
  },
  ERR_NOT_A_MODEL: {
    meaning: 'a checkpoint holds no description of a model of layers',
    remedy: 'load a checkpoint of `model.save` or `model.fit`',
  },
  ERR_NO_EXPORT: {
    meaning: 'a layer has no counterpart in the format of an export',
    remedy: 'export in the other format, or without the layer',
  },
  ERR_NO_WHOLE_CHECKPOINT: {
    meaning: 'every checkpoint of a run is damaged, lacks a file or is missing',
    remedy: 'put the files of one back from a copy, or begin a new run',
  },
  ERR_RUN_LOCKED: {
    meaning: 'another process trains in this directory; the message names process and host',
    remedy: 'wait for it, stop it, or train in another directory',
  },
  ERR_UNKNOWN_LAYOUT: {
    meaning: 'a checkpoint of training holds the buffer of an unknown model',
    remedy: 'name all models: `new TrainingCheckpoints(backend, directory, { models })`',
  },
} as const

/** Codes of the errors that this package defines. */
export type LayersErrorCode = keyof typeof ERROR_CODES
