/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_NO_WHOLE_CHECKPOINT: {
    meaning: 'every checkpoint of a run is damaged, lacks a file or is gone',
    remedy: 'put the files of one back from a copy, or begin a new run',
  },
  ERR_RUN_LOCKED: {
    meaning: 'another process trains in this directory; the message names process and host',
    remedy: 'wait for it, stop it, or train in another directory',
  },
  ERR_UNKNOWN_BACKEND: {
    meaning: 'unknown executor',
    remedy: '`auto`, or one that the message names',
  },
  ERR_UNKNOWN_LAYOUT: {
    meaning: 'a checkpoint of training holds the buffer of a model that it does not know',
    remedy: 'name all models: `new TrainingCheckpoints(backend, directory, { models })`',
  },
} as const

/** Codes of the errors that this package defines. */
export type FacadeErrorCode = keyof typeof ERROR_CODES
