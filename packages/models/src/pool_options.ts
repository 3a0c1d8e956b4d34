import { checkOptions, integerIn, NUMBER, optional, where } from '@cudnn-rnn/arguments'
import type { StreamPoolOptions } from './stream_pool.js'

export type CheckedPoolOptions = { readonly [Name in keyof StreamPoolOptions]-?: number }

/** The longest delay of `setTimeout`. */
const MAX_DELAY_MS = 2 ** 31 - 1

const RULES = Object.freeze({
  maxStreams: optional(integerIn(1, 1 << 20)),
  maxDelayMs: optional(
    where(NUMBER, `a number in 0..${MAX_DELAY_MS}`, (value: number) => value >= 0 && value <= MAX_DELAY_MS),
  ),
  maxQueued: optional(integerIn(1, Number.MAX_SAFE_INTEGER)),
  maxBatch: optional(integerIn(1, Number.MAX_SAFE_INTEGER)),
})

/** Throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`. */
export function checkPoolOptions(options: StreamPoolOptions): CheckedPoolOptions {
  checkOptions('open a pool of streams', options, RULES)
  const { maxStreams = 1024, maxDelayMs = 0, maxQueued = 1024, maxBatch = maxStreams } = options
  return { maxStreams, maxDelayMs, maxQueued, maxBatch }
}
