import { describe, expect, it } from 'vitest'
import { RecentSamples } from '../../src/streams/recent_samples.js'

const summaryOf = (capacity: number, samples: readonly number[]) => {
  const recent = new RecentSamples(capacity)
  for (const sample of samples) recent.add(sample)
  return recent.summary()
}
const upTo = (count: number) => Array.from({ length: count }, (_, k) => k + 1)

describe('RecentSamples', () => {
  it.each<[string, number[], object]>([
    ['no sample', [], { mean: 0, p50: 0, p99: 0, max: 0 }],
    ['one', [7], { mean: 7, p50: 7, p99: 7, max: 7 }],
    ['two', [9, 1], { mean: 5, p50: 1, p99: 9, max: 9 }],
    ['negative ones', [-3, -1, -2], { mean: -2, p50: -2, p99: -1, max: -1 }],
    ['numbers that sort otherwise as texts', [10, 9, 100], { mean: 119 / 3, p50: 10, p99: 100, max: 100 }],
    ['100', upTo(100), { mean: 50.5, p50: 50, p99: 99, max: 100 }],
    ['200', upTo(200), { mean: 100.5, p50: 100, p99: 198, max: 200 }],
  ])('has the quantiles by the nearest rank of %s', (_, samples, expected) => {
    expect(summaryOf(1000, samples)).toEqual(expected)
  })

  it('drops the oldest', () => {
    expect(summaryOf(3, [100, 100, 1, 2, 3])).toEqual({ mean: 2, p50: 2, p99: 3, max: 3 })
    expect(summaryOf(3, [1, 2, 3, 9])).toEqual({ mean: 14 / 3, p50: 3, p99: 9, max: 9 })
  })

  it('can be read at any time, and changes nothing by it', () => {
    const recent = new RecentSamples(4)
    recent.add(2)
    recent.summary()
    recent.add(1)
    expect(recent.summary()).toEqual({ mean: 1.5, p50: 1, p99: 2, max: 2 })
  })
})
