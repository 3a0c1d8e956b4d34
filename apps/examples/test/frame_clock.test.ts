import { afterEach, describe, expect, it, vi } from 'vitest'
import { FrameClock } from '../src/frame_clock.js'

afterEach(() => {
  vi.restoreAllMocks()
})

/** A clock of frames of 32 ms whose work takes these milliseconds. */
async function clocked(...milliseconds: number[]) {
  let now = 1000
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  const clock = new FrameClock(0.032)
  for (const each of milliseconds) {
    const result = await clock.time(async () => {
      now += each
      return each
    })
    expect(result).toBe(each)
  }
  return clock
}

describe('FrameClock', () => {
  it('divides the time of computing by the time that the frames last', async () => {
    expect((await clocked(4, 12)).realTimeFactor).toBeCloseTo(0.25, 12)
  })

  it('sums up median and 99th percentile in milliseconds', async () => {
    const clock = await clocked(...Array.from({ length: 101 }, (_, k) => k / 10))
    expect(clock.summary()).toBe(
      'real-time factor 0.156 (6.4 × faster than real time), per frame of 32 ms: 5.00 ms median, 9.90 ms at the 99th percentile',
    )
  })

  it('reports where it is too slow, or has seen no frame', async () => {
    expect((await clocked(64)).summary()).toMatch(/^real-time factor 2\.000 \(slower than real time\)/)
    expect((await clocked()).summary()).toBe('too short for one frame')
  })

  it('does not count work that fails', async () => {
    const clock = await clocked(16)
    await expect(clock.time(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(clock.realTimeFactor).toBeCloseTo(0.5, 12)
  })
})
