// Scope of the walk, and exclusions with their reasons.

/** Entry points whose every error must have a code. */
export const STRICT = ['backend', 'canonical', 'cpu', 'models', 'reference']

/**
 * Entry points that the walk calls when they are named by --only, and that still throw errors of the engine at arguments
 * of the wrong kind.
 */
export const NOT_YET = ['cells', 'checkpoint', 'cudnn', 'interop', 'layers', 'report', 'rnn', 'saveable', 'train']

/** Callables that are left out of every walk, by reason. */
export const LEFT_OUT = new Map([
  ['canonical: liveLength', 'asked of a typed array only'],
  ['canonical: ownView', 'asked of a typed array only'],
  ['canonical: wasTransferred', 'asked of a typed array only'],
  ['canonical: codedRangeError', 'makes the errors'],
  ['canonical: codedTypeError', 'makes the errors'],
  ['backend: new BackendUnavailableError', 'makes an error'],
])
