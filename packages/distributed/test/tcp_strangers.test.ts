import { spawn } from 'node:child_process'
import { createServer, Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { CallProgress } from '../src/nccl/call_progress.js'
import { TcpStar } from '../src/nccl/tcp_star.js'
import { freePort, messageOf, usesStars } from './star_of_ranks.js'

/** A connection to a port, until the other end closes it. */
async function stranger(port: number, ...pieces: readonly Uint8Array[]) {
  const socket = new Socket().connect(port, '127.0.0.1').on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.resume().on('close', () => resolve()))
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))
  for (const piece of pieces) socket.write(piece)
  return { socket, closed }
}

/** Length and kind, then the bytes. */
function frame(kind: 'message' | 'failure' | 'rollCall' | 'progress' | 'roll', bytes: Uint8Array): Buffer {
  const header = Buffer.alloc(5)
  header.writeUInt32LE(bytes.length)
  header.writeUInt8(['message', 'failure', 'rollCall', 'progress', 'roll'].indexOf(kind), 4)
  return Buffer.concat([header, bytes])
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value))
const HELLO = { job: 'test', rank: 1, size: 2, host: 'here' }

/** The first rank of two, whose other rank is a raw connection. */
async function firstRank() {
  const port = await freePort()
  const progress = () => new CallProgress().current
  const options = { rank: 0, size: 2, host: '127.0.0.1', port, listenOn: '127.0.0.1', job: 'test', timeoutSeconds: 30 }
  const opening = TcpStar.open({ ...options, progress })
  return { port, opening }
}

const { open, ranks } = usesStars()

describe('TcpStar among strangers and wrong ranks', () => {
  it('gives up at its deadline where the host of the first rank accepts nothing', async () => {
    const full = `require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
      require('node:fs').writeSync(1, String(this.address().port))
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    })`
    const host = spawn(process.execPath, ['-e', full])
    const port = Number(await new Promise((resolve) => host.stdout.once('data', resolve)))
    const waiting = await Promise.all([1, 2].map(() => stranger(port)))
    const progress = () => new CallProgress().current
    const options = { rank: 1, size: 2, host: '127.0.0.1', port, job: 'test', timeoutSeconds: 0.3, progress }
    // Only Linux has so short a queue: elsewhere the connection opens, and the first rank has 5 s more to answer.
    const reason = process.platform === 'linux' ? /no message within 0\.3 s/ : /no message within [05]\.\d s/
    expect(await messageOf(TcpStar.open(options))).toMatch(reason)
    host.kill('SIGKILL')
    for (const { socket } of waiting) socket.destroy()
  })

  it('opens although strangers connect: another job, another size, no rank of this job, no JSON', async () => {
    const port = await freePort()
    const progress = () => new CallProgress().current
    const options = { size: 2, host: '127.0.0.1', port, job: 'test', timeoutSeconds: 30, progress }
    const first = TcpStar.open({ ...options, rank: 0 })
    const refused = [
      { ...HELLO, job: 'another' },
      { ...HELLO, size: 3 },
      ...[0, 2, 0.5, '1', null].map((rank) => ({ ...HELLO, rank })),
      ...[7, null, undefined].map((each) => ({ ...HELLO, host: each })),
      ...[null, 5, 'text'],
    ].map(json)
    for (const bytes of [...refused, Buffer.from('{'), Buffer.alloc(0), Buffer.alloc(5000)]) {
      const { closed } = await stranger(port, frame('message', bytes))
      await closed
    }
    open.push(...(await Promise.all([first, TcpStar.open({ ...options, rank: 1 })])))
    const gathered = await Promise.all(open.map((star, rank) => star.allGather(Uint8Array.of(rank))))
    expect(gathered).toEqual([gathered[1], [Uint8Array.of(0), Uint8Array.of(1)]])
  })

  it('ends the connections of those who say nothing or much, and closes its port, when all ranks are there', async () => {
    const { port, opening } = await firstRank()
    const silent = [await stranger(port), await stranger(port, Buffer.from([9]))]
    const before = process.memoryUsage().rss
    const flood = Buffer.concat([Buffer.from([0, 0, 0, 100, 0]), Buffer.alloc(2 ** 25)])
    for (const { closed } of await Promise.all([1, 2, 3, 4].map(() => stranger(port, flood)))) await closed
    const rank = await stranger(port, frame('message', json(HELLO)))
    const star = await opening
    open.push(star)
    for (const { closed } of silent) await closed
    // Most of it are the buffers of this end.
    expect(process.memoryUsage().rss - before).toBeLessThan(2 ** 28)
    await (await stranger(port)).closed
    star.close()
    await rank.closed
  })

  it.each([
    ['progress', '{'],
    ['progress', 'null'],
    ['progress', '{"sequence":"1","pending":[],"seconds":1}'],
    ['progress', '{"sequence":1,"pending":[[1,{}]],"seconds":1}'],
    ['progress', '{"sequence":1,"pending":5,"seconds":1}'],
    ['roll', '[]'],
    ['roll', '{'],
    ['roll', '[null,5]'],
  ] as const)('fails where a rank sends the %s %s, and throws nothing', async (kind, text) => {
    const { port, opening } = await firstRank()
    const { socket, closed } = await stranger(port, frame('message', json(HELLO)))
    const star = await opening
    open.push(star)
    const call = messageOf(star.allGather(Uint8Array.of(0)))
    socket.write(frame(kind, Buffer.from(text)))
    expect(await call).toBe('rank 1 of 2 on here: it sent a message that cannot be read')
    await closed
  })

  it('escapes the names and the texts of other ranks', async () => {
    const { port, opening } = await firstRank()
    const { socket } = await stranger(port, frame('message', json({ ...HELLO, host: '\x1b]0;X\x07' })))
    const star = await opening
    open.push(star)
    expect(star.name(1)).toBe('rank 1 of 2 on \\x1b]0;X\\x07')
    const call = messageOf(star.allGather(Uint8Array.of(0)))
    socket.write(frame('failure', Buffer.from('a\x1b[2Jb'.padEnd(5000, '.'))))
    expect(await call).toMatch(/^a\\x1b\[2Jb\.+… \(\d+ characters\) …\.+$/)
    socket.destroy()
  })

  it.each(['null', '5', '{}', '["a"]', '["a",5]', '{'])('refuses a first rank whose hosts are %s', async (text) => {
    const server = createServer((socket) => {
      socket.on('error', () => {}).write(frame('message', Buffer.from(text)))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const progress = () => new CallProgress().current
    const opening = TcpStar.open({ ...HELLO, host: '127.0.0.1', port, timeoutSeconds: 0.5, progress })
    expect(await messageOf(opening)).toMatch(
      /^Cannot open communicator as rank 1 of 2 must reach .*(cannot be read|JSON)/,
    )
    server.close()
  })

  it('names a rank that is in another call', async () => {
    const [first, second] = await ranks(2)
    second!.progress.begin('barrier')
    first!.progress.begin('allReduce')
    expect(await first!.star.missingRanks(1, 'allReduce')).toMatch(/^rank 1 of 2 on \S+ is in barrier \(call 1\)$/)
    expect(await first!.star.missingRanks(1, 'barrier')).toBe('')
  })
})
