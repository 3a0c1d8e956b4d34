import { describe, expect, it, vi } from 'vitest'
import { isStep, type QueuedStep, StreamQueue } from '../../src/streams/stream_queue.js'

const step = (reject: (reason: unknown) => void = () => {}): QueuedStep => ({
  ...{ frames: undefined, steps: 1, done: 0, outputs: undefined, shape: [1], since: 0 },
  ...{ resolve: () => {}, reject },
})

describe('StreamQueue', () => {
  it('rejects every call that waits, each with its own error, and takes no more', () => {
    const queue = new StreamQueue(3)
    const rejects = [vi.fn(), vi.fn()] as const
    queue.calls.push(step(rejects[0]), { apply: () => {}, reject: rejects[1] })
    queue.waiting = 1
    const reason = () => new Error('closed')
    queue.end(reason)
    expect(queue).toMatchObject({ row: 3, calls: [], waiting: 0, ended: reason })
    const errors = rejects.map((reject) => reject.mock.calls[0]?.[0])
    expect(errors).toEqual([new Error('closed'), new Error('closed')])
    expect(errors[0]).not.toBe(errors[1])
    queue.end(reason)
    expect(rejects[0]).toHaveBeenCalledTimes(1)
  })

  it('distinguishes steps from changes', () => {
    expect([isStep(step()), isStep({ apply: () => {}, reject: () => {} })]).toEqual([true, false])
  })
})
