import { describe, expect, it } from 'vitest'
import { betterPeak } from '../src/machine_peak.js'

describe('betterPeak', () => {
  it('takes the better product with its owner and the better bandwidth', () => {
    const before = { gflops: 190, productBy: 'PyTorch', bandwidth: 33 }
    const after = { gflops: 210, productBy: 'cpu executor', bandwidth: 30 }
    expect(betterPeak(before, after)).toEqual({ gflops: 210, productBy: 'cpu executor', bandwidth: 33 })
  })
})
