import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { PendingCalls } from '../../src/threads/pending_calls.js'

describe('PendingCalls', () => {
  it('settles each call by its number, in any order', async () => {
    const calls = new PendingCalls()
    const [first, second] = [calls.add<string>(7, true), calls.add<string>(8, false)]
    expect([calls.size, calls.steps]).toEqual([2, 1])
    expect([calls.settle(8, 'state', false), calls.settle(7, new Error('no'), true)]).toEqual([false, true])
    expect([calls.size, calls.steps]).toEqual([0, 0])
    await expect(second).resolves.toBe('state')
    await expect(first).rejects.toThrow('no')
  })

  it('rejects all that wait, each with its own error', async () => {
    const calls = new PendingCalls()
    const pending = [calls.add(1, true), calls.add(2, true)]
    calls.rejectAll(() => new Error('ended'))
    expect([calls.size, calls.steps]).toEqual([0, 0])
    const errors = await Promise.all(pending.map((each) => each.catch((error: unknown) => error)))
    expect(errors).toEqual([new Error('ended'), new Error('ended')])
    expect(errors[0]).not.toBe(errors[1])
  })

  it('reports an answer to a call that does not wait', () => {
    expect(() => new PendingCalls().settle(3, undefined, false)).toThrow(coded('ERR_BROKEN_INVARIANT'))
  })
})
