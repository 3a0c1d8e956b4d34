import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { EndOfTurn } from '../../src/streams/end_of_turn.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setImmediate', 'clearImmediate', 'setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const open = () => {
  const task = vi.fn()
  return { task, turn: new EndOfTurn(task) }
}

describe('EndOfTurn', () => {
  it('runs the task once for any number of calls in a turn, and not within it', () => {
    const { task, turn } = open()
    turn.now()
    turn.now()
    expect(task).not.toHaveBeenCalled()
    vi.runAllTimers()
    expect(task).toHaveBeenCalledTimes(1)
    turn.now()
    vi.runAllTimers()
    expect(task).toHaveBeenCalledTimes(2)
  })

  it('runs it after a delay, unless the end of the turn comes first', () => {
    const { task, turn } = open()
    turn.after(20)
    turn.after(5)
    vi.advanceTimersByTime(19)
    expect(task).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(task).toHaveBeenCalledTimes(1)
    turn.after(20)
    turn.now()
    vi.advanceTimersByTime(0)
    expect(task).toHaveBeenCalledTimes(2)
    vi.advanceTimersByTime(100)
    expect(task).toHaveBeenCalledTimes(2)
  })

  it('does not delay a task that is due at the end of the turn', () => {
    const { task, turn } = open()
    turn.now()
    turn.after(1000)
    vi.advanceTimersByTime(0)
    expect(task).toHaveBeenCalledTimes(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('cancels, and leaves no timer that keeps the process alive', () => {
    const { task, turn } = open()
    for (const schedule of [() => turn.now(), () => turn.after(5)]) {
      schedule()
      turn.cancel()
      turn.cancel()
      expect(vi.getTimerCount()).toBe(0)
    }
    vi.runAllTimers()
    expect(task).not.toHaveBeenCalled()
    turn.now()
    vi.runAllTimers()
    expect(task).toHaveBeenCalledTimes(1)
  })

  it('may be scheduled again by its own task', () => {
    let left = 3
    const turn = new EndOfTurn(() => {
      if (--left > 0) turn.now()
    })
    turn.now()
    vi.runAllTimers()
    expect(left).toBe(0)
  })

  it('posts a message if the platform lacks setImmediate, and cancels it', async () => {
    vi.useRealTimers()
    vi.stubGlobal('setImmediate', undefined)
    const { task, turn } = open()
    turn.now()
    turn.cancel()
    await new Promise<void>((resolve) => {
      const other = new EndOfTurn(resolve)
      other.now()
    })
    expect(task).not.toHaveBeenCalled()
  })
})
