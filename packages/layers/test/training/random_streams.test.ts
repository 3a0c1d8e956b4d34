import { describe, expect, it } from 'vitest'
import { positionOfStream, seedOfStream, streamOfRank } from '../../src/training/random_streams.js'

describe('seedOfStream', () => {
  it('keeps the seed of stream 0, and every other apart from the seeds of the next layers', () => {
    expect(seedOfStream(7, 0)).toBe(7)
    expect(seedOfStream(7, 1) - 7).toBe(2 ** 32)
    expect(seedOfStream(Number.MAX_SAFE_INTEGER, 2 ** 17 - 1)).toBeLessThan(Number.MAX_SAFE_INTEGER)
  })
})

describe('positionOfStream', () => {
  it('is a safe integer up to the last stream', () => {
    expect(positionOfStream(0)).toBe(0)
    expect(Number.isSafeInteger(positionOfStream(2 ** 17 - 1))).toBe(true)
  })
})

describe('streamOfRank', () => {
  it('differs by rank and by generation', () => {
    const streams = [0, 1, 2].flatMap((rank) => [0, 1, 15].map((generation) => streamOfRank(rank, generation)))
    expect(streams[0]).toBe(0)
    expect(new Set(streams).size).toBe(9)
    expect(streamOfRank(2 ** 13 - 1, 15)).toBe(2 ** 17 - 1)
  })
})
