import { localCommunicators } from '@cudnn-rnn/conformance/communicators'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import type { Communicator } from '../../src/index.js'
import { SeveralRanks } from '../../src/loop/several_ranks.js'
import { over, reasons, record } from './ranks_and_records.js'

const values = (outcomes: readonly PromiseSettledResult<unknown>[]) =>
  outcomes.map((each) => (each.status === 'fulfilled' ? each.value : each.reason))

describe('SeveralRanks', () => {
  it('compares descriptions entry by entry, infinities and absent ones among them', async () => {
    const same = await over(2, (ranks) => ranks.compare(() => ({ steps: Number.POSITIVE_INFINITY, wire: undefined })))
    expect(reasons(same)).toEqual([undefined, undefined])
    const other = await over(3, (ranks, rank) => ranks.compare(() => ({ a: 1, b: [rank === 2 ? 'x' : 'y'] })))
    for (const reason of reasons(other)) {
      expect(reason).toMatchObject({ code: 'ERR_RANKS_DIFFER', difference: 'b', rank: 2 })
      expect(reason?.message).toContain('rank 0 has ["y"], rank 2 has ["x"]')
    }
  })

  it('keeps the first failure of a rank until the next call of all', async () => {
    const outcomes = await over(2, async (ranks, rank) => {
      const result = await ranks.attempt(() => (rank === 1 ? Promise.reject(new Error('first')) : 5))
      await ranks.attempt(() => (rank === 1 ? Promise.reject(new Error('second')) : 5))
      expect(result).toBe(rank === 1 ? undefined : 5)
      await ranks.shareSignal()
    })
    const [first, second] = reasons(outcomes)
    expect(first).toMatchObject({ code: 'ERR_RANK_FAILED', rank: 1, message: expect.stringContaining('first') })
    expect(second?.message).toBe('first')
  })

  it('runs the work of the first rank there alone', async () => {
    const ran: number[] = []
    await over(3, async (ranks, rank) => {
      await ranks.attemptFirst(() => ran.push(rank))
      await ranks.shareSignal()
    })
    expect(ran).toEqual([0])
  })

  it('locks on the first rank, and rejects on all where the lock is taken', async () => {
    const locks: number[] = []
    const lock = (rank: number) => ({
      lock: async () => {
        locks.push(rank)
        return { [Symbol.asyncDispose]: async () => {} }
      },
    })
    const locked = await over(2, (ranks, rank) => ranks.lock(lock(rank) as never))
    expect(locks).toEqual([0])
    expect(values(locked).map((each) => each !== undefined)).toEqual([true, false])
    const taken = { lock: () => Promise.reject(new Error('another process trains')) }
    const [first, second] = reasons(await over(2, (ranks) => ranks.lock(taken as never)))
    expect(first?.message).toBe('another process trains')
    expect(second).toMatchObject({ code: 'ERR_RANK_FAILED', rank: 0 })
  })

  it('hands the metrics of the first rank to all, also those that JSON lacks', async () => {
    const metrics = [{ loss: Number.POSITIVE_INFINITY, accuracy: Number.NaN, step: 0.1 }, { loss: 7 }]
    const outcomes = await over(2, (ranks, rank) => ranks.evaluate(async () => metrics[rank] as Record<string, number>))
    expect(values(outcomes)).toEqual([metrics[0], metrics[0]])
  })

  it('refuses to evaluate variables that differ in one bit', async () => {
    const outcomes = await over(3, async (_, rank, backend, communicator) => {
      const value = backend.tensor({ data: Float32Array.of(0, rank === 1 ? 2 ** -149 : 0), shape: [2] })
      const ranks = new SeveralRanks(
        communicator as unknown as Communicator,
        backend,
        [{ name: 'x', backend, value }],
        {},
      )
      return await ranks.evaluate(undefined)
    })
    for (const reason of reasons(outcomes)) expect(reason).toMatchObject({ code: 'ERR_RANKS_DIVERGED', rank: 1 })
  })

  it('stops on all ranks for the signal of one', async () => {
    const outcomes = await Promise.all(
      localCommunicators(2).map(async (communicator, rank) => {
        using backend = openReferenceBackend()
        const signal = rank === 1 ? AbortSignal.abort() : undefined
        const ranks = new SeveralRanks(communicator as unknown as Communicator, backend, [], { signal })
        const before = ranks.isStopping
        await ranks.shareSignal()
        return [before, ranks.isStopping]
      }),
    )
    expect(outcomes).toEqual([
      [false, true],
      [false, true],
    ])
  })

  it('gives each rank its state, and those of a larger number the states of the smaller in turn', async () => {
    const outcomes = await over(4, async (ranks) => ranks.ownState({ ...record, ranks: 3 }))
    expect(values(outcomes)).toEqual([
      { saved: 'a', by: { rank: 0, size: 3 } },
      { saved: 'b', by: { rank: 1, size: 3 } },
      { saved: 'c', by: { rank: 2, size: 3 } },
      { saved: 'a', by: { rank: 0, size: 3 } },
    ])
    const alone = await over(2, async (ranks) => ranks.ownState({ ...record, extra: 'whole' }))
    expect(values(alone)).toEqual([0, 1].map(() => ({ saved: 'whole', by: { rank: 0, size: 1 } })))
  })

  it('gathers the states in the order of ranks', async () => {
    const outcomes = await over(2, (ranks, rank) => ranks.gatherState(async () => ({ draws: rank })))
    const state = { extra: [{ draws: 0 }, { draws: 1 }], ranks: 2 }
    expect(values(outcomes)).toEqual([state, state])
  })
})
