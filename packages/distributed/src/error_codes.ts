/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_COMMUNICATOR: {
    meaning: 'a call of the communication library failed',
    remedy: '`call` and `detail` are the function and its text; all ranks end when this process does',
  },
  ERR_COMMUNICATOR_CLOSED: {
    meaning: 'the communicator was disposed',
    remedy: 'dispose it last',
  },
  ERR_COMMUNICATOR_OPENED: {
    meaning: 'MPI was opened in this process before, and can be once',
    remedy: 'open the communicator once and pass it on',
  },
  ERR_COMMUNICATOR_UNAVAILABLE: {
    meaning: 'the communication library, or the addon that opens it, cannot be used here',
    remedy: '`attempts` lists the files that were tried; the message names packages to install',
  },
  ERR_LAUNCHER_ENVIRONMENT: {
    meaning: 'an environment variable of the launcher is not a number, or contradicts another',
    remedy: 'the message names it; unset it where no launcher set it',
  },
  ERR_WORLD_MISMATCH: {
    meaning: 'the launcher started more processes than the MPI library sees, so each would train alone',
    remedy: 'use the launcher of that library, or name the library of the launcher',
  },
} as const

/** Codes of the errors that this package defines. */
export type DistributedErrorCode = keyof typeof ERROR_CODES
