/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_AXIS: {
    meaning: "an axis is not one of the tensor's",
    remedy: 'the message states the range',
  },
  ERR_BATCH_WEIGHT: {
    meaning: 'the weight of a batch is not a finite number >= 0',
    remedy: 'return the number of rows, or the sum of their weights',
  },
  ERR_DATA_CHANGED: {
    meaning: 'a data file changed while it was read, or since the run was saved',
    remedy: 'read a copy; begin a new run',
  },
  ERR_DATA_COLUMN: {
    meaning: 'a data file has no column of that name, or two of one name',
    remedy: 'the message names the columns',
  },
  ERR_DATA_EMPTY: {
    meaning: 'a data file holds no rows',
    remedy: 'give another file',
  },
  ERR_DATA_IO: {
    meaning: 'the operating system refused to read a data file, or it is not a regular file',
    remedy: 'the message and `cause` name the reason',
  },
  ERR_DATA_RAGGED: {
    meaning: 'a row of a data file has another number of columns',
    remedy: 'fix the row that the message names',
  },
  ERR_DATA_SYNTAX: {
    meaning: 'a data file is malformed',
    remedy: 'fix the place that `row` and `column` name',
  },
  ERR_DATA_VALUE: {
    meaning: 'a value of a data file is not of the kind that was requested',
    remedy: 'fix the place that `row` and `column` name',
  },
  ERR_GRADIENT_COUNT: {
    meaning: 'there is not one gradient per variable',
    remedy: 'pass gradients in the order of the variables',
  },
  ERR_LOG_DAMAGED: {
    meaning: 'a line of `metrics.jsonl` is not a step in JSON',
    remedy: 'remove the line that the message shows, or the file',
  },
  ERR_LOG_IO: {
    meaning: 'the system refused to read or write a log, or a symbolic link has its name',
    remedy: 'look at `cause`: full disk, permissions, a link in its place',
  },
  ERR_NON_FINITE_GRADIENTS: {
    meaning: 'too many updates in a row had infinite or NaN gradients',
    remedy: 'lower the learning rate, clip, look for infinities in the data',
  },
  ERR_NOT_A_BATCH_RESULT: {
    meaning: '`batchGradients` returned something else than a loss and gradients',
    remedy: 'return `{ loss, gradients }`',
  },
  ERR_NOT_FINITE: {
    meaning: 'a value that must be finite is not',
    remedy: 'look for infinities and NaN in the arguments',
  },
  ERR_RANK_FAILED: {
    meaning: 'another rank of the training failed',
    remedy: 'the message has its error; `rank` is its number',
  },
  ERR_RANKS_DIFFER: {
    meaning: 'the ranks of a training have different options, models or data',
    remedy: 'start the same program with the same options in every rank; the message has both values',
  },
  ERR_RANKS_DIVERGED: {
    meaning: 'the variables of the ranks are no longer equal',
    remedy: 'use the same machines and executors for all ranks, and change variables by the optimizer alone',
  },
  ERR_REPLICAS_DIFFER: {
    meaning: 'the devices of `makeParallel` have different executors or variables',
    remedy:
      'open executors of one kind with equal options, and build the same model on each; the message has both values',
  },
  ERR_RESUME_OPTION: {
    meaning: 'a training continues with another option, loss, optimizer or layer than its checkpoint has',
    remedy: 'leave the option as it was, or begin a new run in another folder (`--overwrite` or another `--out`)',
  },
  ERR_SCHEDULE: {
    meaning: 'boundaries and rates of a schedule do not fit each other',
    remedy: 'boundaries grow, and there is one rate more',
  },
  ERR_SEQUENCE_TOO_SHORT: {
    meaning: 'a sequence is shorter than one window',
    remedy: 'use shorter windows or more text',
  },
  ERR_UNKNOWN_METRIC: {
    meaning: '`evaluate` did not return the metric that early stopping watches',
    remedy: 'return it, or name another',
  },
  ERR_UNKNOWN_SYMBOL: {
    meaning: 'a symbol is not in the vocabulary',
    remedy: 'the message names symbol and position',
  },
} as const

/** Codes of the errors that this package defines. */
export type TrainErrorCode = keyof typeof ERROR_CODES
