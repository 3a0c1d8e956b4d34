import { localCommunicators } from '@cudnn-rnn/conformance/communicators'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { type Communicator, gatherResults } from '../../src/index.js'

const over = async <Result>(size: number, work: (rank: number) => Promise<Result> | Result) =>
  await Promise.allSettled(
    localCommunicators(size).map((each, rank) => gatherResults(each as unknown as Communicator, () => work(rank))),
  )

afterEach(() => {
  vi.useRealTimers()
})

function throwAgain(): never {
  throw new Error('again')
}

describe('gatherResults', () => {
  it('gives every rank the results of all in their order', async () => {
    const value = [{ at: 0 }, { at: 10 }, { at: 20 }]
    expect(await over(3, async (rank) => ({ at: 10 * rank }))).toEqual(
      value.map(() => ({ status: 'fulfilled', value })),
    )
  })

  it('carries nothing as undefined, and null as null', async () => {
    expect(await over(2, (rank) => (rank === 0 ? undefined : null))).toEqual(
      [0, 1].map(() => ({ status: 'fulfilled', value: [undefined, null] })),
    )
  })

  it('rejects with the error of the failed rank there, and with ERR_RANK_FAILED on the others', async () => {
    const failure = new TypeError('no such file')
    const outcomes = await over(3, (rank) => {
      if (rank === 1) throw failure
      return rank
    })
    const named = {
      code: 'ERR_RANK_FAILED',
      rank: 1,
      message: 'Cannot go on as rank 1 failed: TypeError: no such file',
    }
    expect(outcomes).toEqual([
      { status: 'rejected', reason: expect.objectContaining(named) },
      { status: 'rejected', reason: failure },
      { status: 'rejected', reason: expect.objectContaining(named) },
    ])
  })

  it('reports a mistake of all ranks once: others than the first have it as the cause', async () => {
    const errors = [0, 1].map(() => new RangeError('3 steps'))
    const [first, second] = await over(2, (rank) => Promise.reject(errors[rank]))
    expect(first).toEqual({ status: 'rejected', reason: errors[0] })
    expect(second).toMatchObject({ reason: { code: 'ERR_RANK_FAILED', rank: 0, cause: errors[1] } })
  })

  it('keeps the errors of ranks that fail differently', async () => {
    const outcomes = await over(2, (rank) => Promise.reject(new Error(`disk ${rank}`)))
    expect(outcomes.map((each) => (each as PromiseRejectedResult).reason.message)).toEqual(['disk 0', 'disk 1'])
  })

  it('names a rejection that is not an error', async () => {
    const [first] = await over(2, (rank) => (rank === 1 ? Promise.reject('disk full') : 0))
    expect(first).toMatchObject({ reason: { message: 'Cannot go on as rank 1 failed: disk full' } })
  })

  it.each<[string, unknown, string]>([
    ['has no text', Object.create(null), 'an object without fields'],
    ['throws when it is read', Object.defineProperty(new Error(), 'message', { get: throwAgain }), 'an Error'],
  ])('names a rejection that %s', async (_, thrown, text) => {
    const [first] = await over(2, (rank) => (rank === 1 ? Promise.reject(thrown) : 0))
    expect(first).toMatchObject({ reason: { code: 'ERR_RANK_FAILED', message: expect.stringContaining(text) } })
  })

  it('ends the job where the others do not come to the call of a failed rank within 5 seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let end = (_: Error) => {}
    const allGather = () =>
      new Promise<Uint8Array[]>((_, reject) => {
        end = reject
      })
    const abort = vi.fn((reason: string) => end(new Error(`ended: ${reason}`)))
    const communicator = { rank: 0, size: 2, allGather, abort } as unknown as Communicator
    const gathered = gatherResults(communicator, () => Promise.reject(new Error('disk')))
    const rejection = expect(gathered).rejects.toThrow('ended: Error: disk')
    await vi.advanceTimersByTimeAsync(4999)
    expect(abort).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    await rejection
    expect(abort).toHaveBeenCalledTimes(1)
  })

  it('leaves no timer behind where the others come in time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await over(2, (rank) => (rank === 0 ? Promise.reject(new Error('disk')) : 0))
    expect(vi.getTimerCount()).toBe(0)
  })

  it('refuses a communicator or work of another kind', async () => {
    const [communicator] = localCommunicators(1)
    await expect(gatherResults({} as never, () => 1)).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
    await expect(gatherResults(communicator as never, 3 as never)).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
    expect(communicator?.calls).toBe(0)
  })
})
