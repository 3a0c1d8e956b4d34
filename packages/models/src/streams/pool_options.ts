import { checkOptions, DELAY_MS, integerIn, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'

const COUNT = integerIn(1, Number.MAX_SAFE_INTEGER)

const OPTIONS = {
  /** Streams that may be open at once, 1..1,048,576; the memory of their states is taken at the beginning. Default 1024. */
  maxStreams: optional(integerIn(1, 1 << 20)),
  /**
   * How long a time step may wait for other streams' steps, in milliseconds. Default 0: until the end of this turn of the
   * event loop. No step waits once every open stream has input.
   */
  maxDelayMs: optional(DELAY_MS),
  /** Time steps that may wait in one stream, those being computed included. Default 1024. */
  maxQueued: optional(COUNT),
  /**
   * Streams advanced by one batched step, the longest waiting first; the event loop turns between two. Smaller batches
   * block it for less time. Default `maxStreams`.
   */
  maxBatch: optional(COUNT),
}

/** Options of `streamPool`. */
export interface StreamPoolOptions extends OptionsOf<typeof OPTIONS> {}

export type CheckedPoolOptions = { readonly [Name in keyof StreamPoolOptions]-?: number }

/** Throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`. */
export function checkPoolOptions(options: StreamPoolOptions): CheckedPoolOptions {
  const {
    maxStreams = 1024,
    maxDelayMs = 0,
    maxQueued = 1024,
    maxBatch = maxStreams,
  } = checkOptions('open a pool of streams', options, OPTIONS)
  return { maxStreams, maxDelayMs, maxQueued, maxBatch }
}
