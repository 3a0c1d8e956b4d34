/** Exit codes, for calling programs. */
export const EXIT_CODES = Object.freeze({
  ok: 0,
  /** Failure, described by the message. */
  failed: 1,
  /** The command line was not understood. */
  usage: 2,
  /** Stopped by Ctrl-C or a termination signal, after saving. */
  interrupted: 130,
})
