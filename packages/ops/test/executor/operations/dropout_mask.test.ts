import { describe, expect, it } from 'vitest'
import { DROPOUT_COUNTER, Philox } from '../../../src/executor/index.js'
import { dropoutMask } from '../../../src/executor/operations/dropout_mask.js'

describe('dropoutMask', () => {
  it('splits seed and draw into words that hold them exactly', () => {
    const [seed, draw] = [3 * 2 ** 32 + 7, 5 * 2 ** 24 + 9]
    expect(dropoutMask({ rate: 0.25, seed, draw })).toEqual({
      ...{ seedLow: 7, seedHigh: 3, drawLow: 9, drawHigh: 5 },
      ...{ threshold: 2 ** 22, kept: 1 / 0.75 },
    })
    const largest = dropoutMask({ rate: 0, seed: Number.MAX_SAFE_INTEGER, draw: 2 ** 48 - 1 })
    expect(largest).toMatchObject({
      ...{ seedLow: 2 ** 32 - 1, seedHigh: 2 ** 21 - 1 },
      ...{ drawLow: 2 ** 24 - 1, drawHigh: 2 ** 24 - 1 },
    })
  })

  it('drops nothing at rate 0 and everything at rate 1', () => {
    expect(dropoutMask({ rate: 0, seed: 1, draw: 0 })).toMatchObject({ threshold: 0, kept: 1 })
    expect(dropoutMask({ rate: 1, seed: 1, draw: 0 })).toMatchObject({ threshold: 2 ** 24, kept: 0 })
  })

  it('drops a word exactly where its uniform number is below the rate', () => {
    const words = new Philox(11)
    for (const rate of [1e-9, 0.1, 1 / 3, 0.5, 0.999_999_99]) {
      const { threshold } = dropoutMask({ rate, seed: 1, draw: 0 })
      for (let word = 0; word < 1000; word++) {
        const bits = words.uint32() >>> 8
        expect(bits < threshold).toBe(bits / 2 ** 24 < rate)
      }
    }
  })
})

describe('DROPOUT_COUNTER', () => {
  it('is apart from every draw: the upper word of the largest is below it', () => {
    expect(DROPOUT_COUNTER).toBeGreaterThan(2 ** 24 - 1)
    expect(DROPOUT_COUNTER + 2 ** 24 - 1).toBeLessThan(2 ** 32)
  })
})
