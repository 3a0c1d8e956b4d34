/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_LAYERS_DO_NOT_FIT: {
    meaning: 'a layer cannot take what the layer before it gives',
    remedy: 'the message names both layers and their shapes',
  },
  ERR_NOT_A_LAYER: {
    meaning: 'something else than a layer was given to `sequential`, `concat` or `timeDistributed`',
    remedy: 'pass what dense(…), cudnnLSTM(…), … return',
  },
  ERR_UNKNOWN_LAYER: {
    meaning: 'a file describes a layer, or an option of one, that there is none of here',
    remedy: 'the message names it; build the model by hand and load the weights alone',
  },
  ERR_UNKNOWN_INPUT: {
    meaning: 'the first layer does not say what its input looks like',
    remedy: 'begin with an embedding, or give `inputSize`',
  },
  ERR_LAYER_TAPE: {
    meaning: 'gradients were asked with a tape of another layer, or one that was used or disposed before',
    remedy: 'call() makes a tape for one gradients()',
  },
  ERR_LAYER_STATES: {
    meaning: 'states are not those that this model carries',
    remedy: 'pass on what `call` returned as `states`',
  },
  ERR_NO_STREAM: {
    meaning: 'a layer of the model needs the whole sequence, so that it cannot step',
    remedy: 'use `predict`',
  },
  ERR_NO_LOSS: {
    meaning: 'evaluation has no loss: none was given, and the model was not trained',
    remedy: 'pass `loss`',
  },
  ERR_EXAMPLE: {
    meaning: 'an example or a batch of the data is not what the model or its loss takes',
    remedy: 'the message says what it needs',
  },
  ERR_NOT_A_MODEL: {
    meaning: 'a checkpoint holds no description of a model of layers',
    remedy: 'load what `model.save` or `model.fit` wrote',
  },
  ERR_NO_WHOLE_CHECKPOINT: {
    meaning: 'every checkpoint of a run is damaged, lacks a file or is gone',
    remedy: 'put the files of one back from a copy, or begin a new run',
  },
  ERR_RUN_LOCKED: {
    meaning: 'another process trains in this directory; the message names process and host',
    remedy: 'wait for it, stop it, or train in another directory',
  },
  ERR_UNKNOWN_LAYOUT: {
    meaning: 'a checkpoint of training holds the buffer of a model that it does not know',
    remedy: 'name all models: `new TrainingCheckpoints(backend, directory, { models })`',
  },
} as const

/** Codes of the errors that this package defines. */
export type LayersErrorCode = keyof typeof ERROR_CODES
