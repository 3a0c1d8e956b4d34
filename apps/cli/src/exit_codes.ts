/** What the process ends with, for programs that call it. */
export const EXIT_CODES = Object.freeze({
  ok: 0,
  /** Something went wrong; the message says what. */
  failed: 1,
  /** The command line was not understood. */
  usage: 2,
  /** Stopped by Ctrl-C or a termination signal, after saving. */
  interrupted: 130,
})
