/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_DATA_PACKAGE: {
    meaning: 'npm could not fetch a data package',
    remedy: 'check the network, or give your own file',
  },
  ERR_NO_CHECKPOINT: {
    meaning: 'no checkpoint is at that path, or a file of another format',
    remedy: "name a prefix such as `run/model-100`, or the run's directory; `import` lists other files",
  },
  ERR_NO_RUN: {
    meaning: 'a directory holds no run, or a run of another command',
    remedy: 'name a directory that the same command made',
  },
  ERR_OUTPUT_DIRECTORY: {
    meaning: 'the directory to write to cannot be made',
    remedy: 'name another by `--out`; `cause` names the reason',
  },
  ERR_RUN_EXISTS: {
    meaning: 'a directory holds a run already',
    remedy: '`--resume`, or another `--out`',
  },
  ERR_RUN_INPUT: {
    meaning: 'the input of a model to run, or ONNX Runtime, is missing or does not fit',
    remedy: 'the message names the option or the row',
  },
  ERR_SEVERAL_NETWORKS: {
    meaning: 'a format holds one network, and the file has several',
    remedy: 'name one with `--network`, or those that feed each other with `--stack`',
  },
  ERR_STEPS_DONE: {
    meaning: '`--resume` with fewer `--steps` than the run has done',
    remedy: 'give a larger number, or leave the option out',
  },
  ERR_TEXT_FILE: {
    meaning: 'a text file cannot be read as UTF-8',
    remedy: 'convert it to UTF-8',
  },
  ERR_TEXT_TOO_SHORT: {
    meaning: 'a text is too short to train and evaluate on',
    remedy: 'give a longer text, or shorter sequences',
  },
  ERR_USE_OPTION: {
    meaning: 'an option of training is given with `--run`, which trains nothing',
    remedy: 'leave the option out, or train a new run without `--run`',
  },
  ERR_VALUE_COLUMN: {
    meaning: 'the column to forecast cannot be chosen',
    remedy: 'name it with `--value`',
  },
  ERR_WAV_FILE: {
    meaning: 'a file is not a WAV file, or has samples of another form',
    remedy: 'convert it, as with `ffmpeg -i file -c:a pcm_s16le audio.wav`',
  },
} as const

/** Codes of the errors that this package defines. */
export type CliErrorCode = keyof typeof ERROR_CODES
