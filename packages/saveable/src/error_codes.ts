/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_AMBIGUOUS_NETWORK: {
    meaning: "a network's tensors can be read in more than one way",
    remedy: 'name the form, or convert one network at a time',
  },
  ERR_DUPLICATE_KEY: {
    meaning: 'two tensors would have one key in a checkpoint',
    remedy: 'give the saveables different names',
  },
  ERR_DUPLICATE_SAVEABLE: {
    meaning: 'two saveables have one name',
    remedy: 'give the saveables different names',
  },
  ERR_NAMING: {
    meaning: 'a naming of keys that no release of TensorFlow has',
    remedy: '`tf-1.2`, `tf-1.3`, or leave it out',
  },
  ERR_NO_NETWORK: {
    meaning: 'a checkpoint holds no recurrent network that is known here',
    remedy: '`inspect` lists its contents',
  },
  ERR_NO_VARIABLE: {
    meaning: 'a saveable without variables',
    remedy: 'pass at least one variable',
  },
  ERR_OTHER_MODEL: {
    meaning: 'a saveable of one kind of network was given parameters of another',
    remedy: 'use the saveable of that network',
  },
  ERR_RESTORE_MISMATCH: {
    meaning: 'a checkpoint does not fit the model; nothing was changed',
    remedy: '`missing`, `extra` and `misshapen` of the error name every tensor',
  },
} as const

/** Codes of the errors that this package defines. */
export type SaveableErrorCode = keyof typeof ERROR_CODES
