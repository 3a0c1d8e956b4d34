import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { type HeartbeatOptions, Heartbeats, type Trouble } from '../src/nccl/heartbeats.js'

const open: Heartbeats[] = []
afterEach(async () => {
  for (const heartbeats of open.splice(0)) await heartbeats.close()
})

function heartbeats(options: Partial<HeartbeatOptions>) {
  const troubles: Trouble[] = []
  const made = new Heartbeats({
    ...{ rank: 0, size: 3, host: '127.0.0.1', port: 0, listenOn: '127.0.0.1', job: '/0' },
    ...{ timeoutSeconds: 60, silenceSeconds: 60, busySeconds: 60, learnsBusy: false, calls: () => 0 },
    onTrouble: (trouble) => void troubles.push(trouble),
    ...options,
  })
  open.push(made)
  return { port: made.port, troubles }
}

/** The text from the other end until that closes the connection, or the first `bytes` of it. */
async function answerTo(port: number, text: string, bytes = Number.POSITIVE_INFINITY): Promise<string> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  socket.write(text)
  let answer = ''
  for await (const piece of socket) {
    answer += piece
    if (answer.length >= bytes) break
  }
  return answer.slice(0, bytes)
}

it.each(['0 /0\n', '3 /0\n', '-1 /0\n', '1.5 /0\n', 'x /0\n', '1 /1\n', '1\n', '\n', '!{\n', 'x'.repeat(5000)])(
  'the first rank closes the connection of a stranger that says %j, and reports nothing',
  async (text) => {
    const { port, troubles } = heartbeats({})
    expect(await answerTo(await port, text)).toBe('')
    expect(troubles).toEqual([])
    expect(await answerTo(await port, '1 /0\n', 2)).toBe('0\n')
  },
)

it.each([
  '!{',
  '!null',
  '!5',
  '!{"rank":9,"state":"busy","seconds":1}',
  '!{"rank":1,"state":"x","seconds":1}',
  'x',
  '-1',
])('a rank that sends %j is reported, and the thread serves the others', async (line) => {
  const { port, troubles } = heartbeats({})
  // One heartbeat, or more where the line comes late.
  expect(await answerTo(await port, `2 /0\n${line}\n`)).toMatch(/^(0\n)+$/)
  while (troubles.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  expect(troubles).toEqual([{ rank: 2, state: 'garbled', seconds: 0 }])
  expect(await answerTo(await port, '1 /0\n', 2)).toBe('0\n')
})

it('a rank is connected to the first one, which refuses another of its number', async () => {
  const first = heartbeats({})
  const port = await first.port
  await heartbeats({ rank: 1, port }).port
  expect(await answerTo(port, '1 /0\n')).toBe('')
  expect(first.troubles).toEqual([])
})

it('a rank does not wait for a first one that is connected and answers nothing, as if it was stopped', async () => {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const opened = heartbeats({ rank: 1, port, timeoutSeconds: 0.5 }).port
  await expect(opened).rejects.toThrow('the first rank has not answered within 0.5 s')
  silent.close()
})
