import { describe, expect, it } from 'vitest'
import { CallProgress } from '../src/nccl/call_progress.js'
import { TcpStar } from '../src/nccl/tcp_star.js'
import { freePort, messageOf, usesStars } from './star_of_ranks.js'

const { ranks } = usesStars()

describe('TcpStar', () => {
  it('gathers messages of many pieces of all ranks, in their order', async () => {
    const all = await ranks(3)
    const parts = [new Uint8Array(0), new Uint8Array(1_000_000).fill(7), Uint8Array.of(1, 2, 3)]
    for (let call = 0; call < 2; call++) {
      const gathered = await Promise.all(all.map(({ gather }, rank) => gather(parts[rank])))
      for (const result of gathered)
        expect(result.map((part) => Buffer.compare(part, parts[result.indexOf(part)]!))).toEqual([0, 0, 0])
    }
  })

  it('names a rank whose connection ends on all ranks, while another is late', async () => {
    const [first, , third, fourth] = await ranks(4)
    const calls = [first!, fourth!].map(({ gather }) => messageOf(gather()))
    // The second rank makes no call; the third one ends.
    third!.star.close()
    for (const message of await Promise.all(calls))
      expect(message).toMatch(/^rank 2 of 4 on \S+: it closed its connection$/)
  })

  it('ends calls of another engine that are in progress where a connection ends', async () => {
    const [first, second, third] = await ranks(3)
    const calls = [first!, third!].map(({ star }) => messageOf(star.orFailed(new Promise(() => {}))))
    second!.star.close()
    for (const message of await Promise.all(calls)) expect(message).toMatch(/^rank 1 of 3 on \S+: it closed/)
  })

  it('gives the reason of a rank that fails to all, and to later calls', async () => {
    const [first, second, third] = await ranks(3)
    const call = messageOf(first!.gather())
    third!.star.fail('rank 2 of 3: no memory')
    expect(await call).toBe('rank 2 of 3: no memory')
    expect(await messageOf(second!.gather())).toBe('rank 2 of 3: no memory')
  })

  it.each([0, 2])('names the rank that is missing where the deadline of rank %d passes', async (rank) => {
    const all = await ranks(3)
    await Promise.all(all.map(({ gather }) => gather()))
    // Not before: a busy machine may take longer to open.
    for (const { options } of all) options.timeoutSeconds = 1
    // All others wait too, but for rank 1.
    const late = all.map(({ gather }, other) => (other === 1 ? undefined : messageOf(gather())))
    expect(await late[rank]).toBe('no message within 1 s')
    expect(await all[rank]!.star.missingRanks(2, 'allGather')).toMatch(
      /^rank 1 of 3 on \S+ is in no call since \d\.\d s \(its last was call 1\)$/,
    )
    await late[2 - rank]
  })

  it('takes the message of the rank that has named the missing ones, and has ended', async () => {
    // The deadlines of the first and the third rank pass at once. One queries all ranks; the other asks it too late.
    for (const [ended, asks] of [
      [0, 2],
      [2, 0],
    ] as const) {
      const all = await ranks(3)
      const missing = messageOf(all[asks]!.star.missingRanks(1, 'allGather'))
      all[ended]!.star.fail('every rank must come to it within 1 s: rank 1 of 3 is in no call')
      all[ended]!.star.close()
      expect(await missing).toBe('every rank must come to it within 1 s: rank 1 of 3 is in no call')
    }
  })

  it('names the rank that does not come to the opening, on all others', async () => {
    const port = await freePort()
    const progress = () => new CallProgress().current
    const options = { size: 4, host: '127.0.0.1', port, job: 'test', progress }
    // The third rank's own deadline passes before the first's.
    const opened = [
      TcpStar.open({ ...options, rank: 0, timeoutSeconds: 1 }),
      TcpStar.open({ ...options, rank: 1, timeoutSeconds: 1 }),
      TcpStar.open({ ...options, rank: 2, timeoutSeconds: 0.8 }),
    ]
    for (const [rank, message] of (await Promise.all(opened.map(messageOf))).entries()) {
      expect(message).toContain(`Cannot open communicator as rank ${rank} of 4 must reach the other ranks`)
      expect(message).toContain('2 of 3 other ranks have connected within 1 s; missing: 3.')
    }
  })
})
