import { describe, expect, it } from 'vitest'
import { betterRates, type MachineRates, readRate } from '../src/machine_rates.js'

const rates = (scale: number, barrierNs: number): MachineRates => ({
  threads: 2,
  gflops: [100 * scale, 200],
  reads: [
    { bytes: 1024, gigabytes: [90, 180] },
    { bytes: 2048, gigabytes: [50 * scale, 100] },
    { bytes: 4096, gigabytes: [60, 120] },
  ],
  barrierNs,
})

describe('readRate', () => {
  it('takes the size below, as a bound must not be too high, and no lower rate than that of a larger size', () => {
    expect(readRate(rates(1, 0), 3000, 0)).toBe(60)
    expect(readRate(rates(1, 0), 1500, 1)).toBe(180)
  })

  it('takes the smallest and the largest size beyond those measured', () => {
    expect(readRate(rates(1, 0), 10, 0)).toBe(90)
    expect(readRate(rates(1, 0), 1e9, 1)).toBe(120)
  })
})

describe('betterRates', () => {
  it('takes the larger rates and the shorter barrier', () => {
    const better = betterRates(rates(1, 100), rates(2, 80))
    expect(better.gflops).toEqual([200, 200])
    expect(better.reads[1]?.gigabytes).toEqual([100, 100])
    expect(better.barrierNs).toBe(80)
  })
})
