import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { checkPoolOptions } from '../../src/streams/pool_options.js'

describe('checkPoolOptions', () => {
  it('has defaults; a round may have all streams', () => {
    expect(checkPoolOptions({})).toEqual({ maxStreams: 1024, maxDelayMs: 0, maxQueued: 1024, maxBatch: 1024 })
    expect(checkPoolOptions({ maxStreams: 7 }).maxBatch).toBe(7)
    const all = { maxStreams: 2 ** 20, maxDelayMs: 0.5, maxQueued: 1, maxBatch: 1 }
    expect(checkPoolOptions(all)).toEqual(all)
  })

  it.each<[string, object]>([
    ['ERR_INVALID_OPTION', { maxStreams: 0 }],
    ['ERR_INVALID_OPTION', { maxStreams: 2 ** 20 + 1 }],
    ['ERR_INVALID_OPTION', { maxStreams: 1.5 }],
    ['ERR_INVALID_OPTION', { maxDelayMs: -1 }],
    // setTimeout would run immediately.
    ['ERR_INVALID_OPTION', { maxDelayMs: 2 ** 31 }],
    ['ERR_INVALID_OPTION', { maxDelayMs: Number.NaN }],
    ['ERR_INVALID_OPTION', { maxQueued: 0 }],
    ['ERR_INVALID_OPTION', { maxBatch: Number.POSITIVE_INFINITY }],
    ['ERR_INVALID_OPTION_TYPE', { maxStreams: '4' }],
    ['ERR_UNKNOWN_OPTION', { maxStream: 4 }],
  ])('refuses with %s %o', (code, options) => {
    expect(() => checkPoolOptions(options)).toThrow(coded(code))
  })
})
