import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CallProgress, type Progress, whereElse } from '../src/nccl/call_progress.js'

let now = 0
beforeEach(() => {
  now = 1000
  vi.spyOn(performance, 'now').mockImplementation(() => now)
})
afterEach(() => void vi.restoreAllMocks())

describe('CallProgress', () => {
  it('numbers calls from 1 on and lists those that have not ended, in their order', () => {
    const progress = new CallProgress()
    expect(progress.current).toEqual({ sequence: 0, pending: [], seconds: 0 })
    const [first, second, third] = ['allReduce', 'barrier', 'allReduce'].map((name) => progress.begin(name))
    expect([first, second, third]).toEqual([1, 2, 3])
    progress.end(second!)
    expect(progress.current).toMatchObject({
      sequence: 3,
      pending: [
        [1, 'allReduce'],
        [3, 'allReduce'],
      ],
    })
    // A number that is not there, or ended before.
    progress.end(second!)
    progress.end(99)
    expect(progress.current.pending).toHaveLength(2)
  })

  it('counts the seconds since a call began or ended last', () => {
    const progress = new CallProgress()
    now += 500
    expect(progress.current.seconds).toBe(0.5)
    const call = progress.begin('barrier')
    expect(progress.current.seconds).toBe(0)
    now += 2500
    expect(progress.current.seconds).toBe(2.5)
    progress.end(call)
    expect(progress.current.seconds).toBe(0)
  })

  it('reports a copy, which later calls do not change', () => {
    const progress = new CallProgress()
    progress.begin('barrier')
    const { pending } = progress.current
    progress.begin('allReduce')
    expect(pending).toEqual([[1, 'barrier']])
  })
})

describe('whereElse', () => {
  const report = (sequence: number, pending: Progress['pending'], seconds = 0): Progress => ({
    ...{ sequence, pending, seconds },
  })

  it.each<[string, Progress | undefined, string | undefined]>([
    ['no answer', undefined, 'does not answer'],
    ['the same call', report(4, [[4, 'allReduce']]), undefined],
    [
      'the same call, and later ones',
      report(6, [
        [4, 'allReduce'],
        [6, 'barrier'],
      ]),
      undefined,
    ],
    ['the call, which has ended there', report(5, []), undefined],
    ['another call of the same number', report(4, [[4, 'barrier']]), 'is in barrier (call 4)'],
    ['an earlier call', report(3, [[3, 'broadcast']]), 'is in broadcast (call 3)'],
    [
      'several earlier calls',
      report(3, [
        [2, 'allReduce'],
        [3, 'broadcast'],
      ]),
      'is in broadcast (call 3)',
    ],
    ['no call', report(3, [], 12.34), 'is in no call since 12.3 s (its last was call 3)'],
    ['no call yet', report(0, [], 0.96), 'is in no call since 1.0 s (its last was call 0)'],
  ])('with %s', (_, given, expected) => {
    expect(whereElse(given, 4, 'allReduce')).toBe(expected)
  })
})
