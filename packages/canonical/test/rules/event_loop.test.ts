import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { inTurn, nextTurn } from '../../src/rules/index.js'

describe('nextTurn', () => {
  it.each(['setImmediate', 'setImmediate, MessageChannel'])('lets timers in, without %s', async (missing) => {
    if (missing.includes('MessageChannel')) vi.stubGlobal('MessageChannel', undefined)
    onTestFinished(() => void vi.unstubAllGlobals())
    let isLate = false
    setTimeout(() => {
      isLate = true
    })
    for (let turn = 0; turn < 1000 && !isLate; turn++) await nextTurn({})
    expect(isLate).toBe(true)
  })

  it('does not wait for timers that a test has replaced', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    await nextTurn()
  })
})

/** Whether a timer runs while a loop awaits only settled work. */
async function letsTimersIn(): Promise<boolean> {
  let isLate = false
  setTimeout(() => {
    isLate = true
  })
  const end = performance.now() + 5000
  while (!isLate && performance.now() < end) await inTurn(Promise.resolve())
  return isLate
}

describe('inTurn', () => {
  it('lets timers in, if a loop awaits only settled work', async () => {
    expect(await letsTimersIn()).toBe(true)
  })

  it('has the result or the error of the work, and lets timers in again behind a clock that was ahead', async () => {
    vi.spyOn(performance, 'now').mockReturnValue(Number.MAX_SAFE_INTEGER)
    expect(await inTurn(Promise.resolve(1))).toBe(1)
    vi.restoreAllMocks()
    expect(await letsTimersIn()).toBe(true)
    vi.spyOn(performance, 'now').mockReturnValue(0)
    onTestFinished(() => void vi.restoreAllMocks())
    await expect(inTurn(Promise.reject(new Error('of the work')))).rejects.toThrow('of the work')
  })
})
