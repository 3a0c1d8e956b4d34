import { checkOptionNames, codedRangeError, describeValue } from '@cudnn-rnn/canonical'
import type { StreamPoolOptions } from './stream_pool.js'

export type CheckedPoolOptions = { readonly [Name in keyof StreamPoolOptions]-?: number }

const MAX_STREAMS = 1 << 20
/** What `setTimeout` takes. */
const MAX_DELAY_MS = 2 ** 31 - 1

/** Throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`. */
export function checkPoolOptions(options: StreamPoolOptions): CheckedPoolOptions {
  checkOptionNames('open a pool of streams', options, ['maxStreams', 'maxDelayMs', 'maxQueued', 'maxBatch'])
  const { maxStreams = 1024, maxDelayMs = 0, maxQueued = 1024 } = options
  checkCount('maxStreams', maxStreams, MAX_STREAMS)
  const { maxBatch = maxStreams } = options
  checkCount('maxQueued', maxQueued, Number.MAX_SAFE_INTEGER)
  checkCount('maxBatch', maxBatch, Number.MAX_SAFE_INTEGER)
  if (!(typeof maxDelayMs === 'number' && maxDelayMs >= 0 && maxDelayMs <= MAX_DELAY_MS)) {
    refuse('maxDelayMs', `a number in 0..${MAX_DELAY_MS}`, maxDelayMs)
  }
  return { maxStreams, maxDelayMs, maxQueued, maxBatch }
}

function checkCount(option: string, value: number, limit: number): void {
  if (Number.isSafeInteger(value) && value >= 1 && value <= limit) return
  refuse(option, `an integer in 1..${limit}`, value)
}

function refuse(option: string, rule: string, value: unknown): never {
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot open a pool of streams as ${option} must be ${rule}: current value is ${describeValue(value)}`,
    { option, value },
  )
}
