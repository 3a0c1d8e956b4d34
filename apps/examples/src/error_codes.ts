/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_FONT: {
    meaning: 'a font file of the handwriting example holds no font',
    remedy: 'install the dependencies again',
  },
  ERR_INTERNAL: {
    meaning: 'the voice server failed without a code',
    remedy: 'connect again; the log of the server has the error',
  },
  ERR_LISTEN: {
    meaning: 'the voice server cannot take its address: another program has it, or it is none of this computer',
    remedy: 'give another `--port` or `--host`',
  },
  ERR_NOT_AUDIO: {
    meaning: 'a file is not a readable WAV file',
    remedy: 'convert it to 16-bit PCM',
  },
  ERR_NOT_A_VOCABULARY: {
    meaning: 'a file is not a vocabulary of the expected form',
    remedy: 'fetch it again with the model',
  },
  ERR_NO_SAMPLES: {
    meaning: 'a sound file holds no samples',
    remedy: 'give another file',
  },
} as const

/** Codes of the errors that this package defines. */
export type ExamplesErrorCode = keyof typeof ERROR_CODES
