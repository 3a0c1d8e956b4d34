import { expect, it } from 'vitest'
import { withInterrupt } from '../src/interrupt.js'

it.each([
  ['SIGINT', 'linux', true],
  ['SIGTERM', 'linux', true],
  // nohup has it ignored, which a listener would end.
  ['SIGHUP', 'linux', false],
  ['SIGINT', 'win32', true],
  ['SIGBREAK', 'win32', true],
  ['SIGHUP', 'win32', true],
] as const)('%s on %s interrupts: %s; the second one is left to the system', async (signal, platform, expected) => {
  const before = process.listenerCount(signal)
  const isInterrupted = await withInterrupt(async (interrupt) => {
    expect(process.listenerCount(signal)).toBe(expected ? before + 1 : before)
    process.emit(signal)
    expect(process.listenerCount(signal)).toBe(before)
    return interrupt.aborted
  }, platform)
  expect(isInterrupted).toBe(expected)
  await withInterrupt(async () => undefined, platform)
  expect(process.listenerCount(signal)).toBe(before)
})
