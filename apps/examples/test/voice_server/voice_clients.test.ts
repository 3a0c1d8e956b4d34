import { connect, type Socket } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import type { SpeechPool } from '../../src/voice_server/speech_pool.js'
import { energyPool, tone } from './energy_pool.js'
import { until, usesServers } from './served_voices.js'
import { VoiceClient } from './voice_client.js'

const { serve } = usesServers()

/** The server's answer to an upgrade of this address, until it closes the connection. */
async function upgrade(port: number, address: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  socket.write(`GET ${address} HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n`, 'latin1')
  let answer = ''
  for await (const piece of socket) answer += piece
  return answer
}

/** A client of WebSocket that reads and answers nothing. */
function connected(port: number): Socket {
  const raw = connect(port, '127.0.0.1').on('error', () => undefined)
  raw.write(
    'GET /stream HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  )
  return raw
}

describe('VoiceServer against its clients', () => {
  it.each([
    ...['//', '///', '/\\', 'http://[', 'http://', '//[', '//:', 'ftp:', 'http://a:99999999/', '//\u0000'],
    ...[
      '/\u00ff',
      '/nope',
      '*',
      '/stream/..',
      '/%',
      '/stream%',
      'stream',
      ':',
      '?',
      '#',
      'javascript:1',
      '/'.repeat(8000),
    ],
  ])('refuses an upgrade of the address %s, and serves the next client', async (address) => {
    const { server, port, get, refusals } = await serve()
    const answer = await upgrade(port, address)
    expect(answer).toMatch(/^(HTTP\/1\.1 40[04]|$)/)
    if (!URL.canParse(address, 'http://x') && answer !== '') expect(await refusals('protocol')).toBeLessThanOrEqual(1)
    expect((await get('/livez')).status).toBe(200)
    expect(server.connections).toBeLessThanOrEqual(1)
  })

  it.each(['//', 'http://[', '///', '/\\'])('counts an upgrade of %s as an error of the protocol', async (address) => {
    const { port, refusals } = await serve()
    expect(await upgrade(port, address)).toMatch(/^HTTP\/1\.1 400 /)
    expect(await refusals('protocol')).toBe(1)
  })

  it('closes the connections of clients that do not end their half, and does not wait for them', async () => {
    const { server, port } = await serve()
    const request = (address: string) =>
      `GET ${address} HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n`
    const clients = Array.from({ length: 40 }, (_, index) => {
      const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      client.on('error', () => undefined).resume()
      // Refused, in the middle of a request, silent.
      client.write([request('/nope'), request('//'), 'GET /str', ''][index % 4] as string)
      return client
    })
    await until(() => server.connections === 40)
    // The refused clients.
    await until(() => server.connections === 20)
    const since = performance.now()
    await server.close(100)
    expect(performance.now() - since).toBeLessThan(5000)
    await until(() => server.connections === 0)
    for (const client of clients) client.destroy()
  })

  it('ends the connection whose listener fails, and no other', async () => {
    const pool = energyPool()
    const { port, refusals } = await serve({ pool })
    const other = await new VoiceClient(port).open()
    const { open } = pool
    pool.open = () => {
      throw new Error('a defect')
    }
    const print = vi.spyOn(console, 'error').mockReturnValue()
    await new VoiceClient(port).closed
    const step = () => {
      throw new Error('a defect')
    }
    pool.open = () => ({ step, close() {} }) as never
    const failing = await new VoiceClient(port).open()
    expect((await failing.send(tone(512, 0)).closed).code).toBe(1006)
    pool.open = open
    expect(await refusals('failure')).toBe(2)
    const defect = [expect.stringMatching(/^Error: a defect\n/)]
    expect(print.mock.calls).toEqual([defect, defect])
    print.mockRestore()
    expect((await other.end()).code).toBe(1000)
  })

  it('refuses connections beyond its limit and those of the pool', async () => {
    for (const options of [{ maxConnections: 1 }, { pool: energyPool(1) }]) {
      const { port, refusals } = await serve(options)
      const first = await new VoiceClient(port).open()
      expect(await new VoiceClient(port).refused()).toBe(503)
      expect(await refusals('capacity')).toBe(1)
      await first.end()
      await until(async () => {
        const next = new VoiceClient(port)
        return Promise.race([next.open().then(() => true), next.refused().then(() => false)])
      })
    }
  })

  it('closes a connection for a text message that is not a command', async () => {
    const { port } = await serve()
    const client = await new VoiceClient(port).open()
    client.socket.send('hello')
    expect((await client.closed).code).toBe(1003)
  })

  it('closes a connection for a message in too many parts, none of which is the last', async () => {
    const { port, refusals } = await serve()
    const client = await new VoiceClient(port).open()
    for (let part = 0; part < 65; part++) client.socket.send(Buffer.alloc(2), { fin: false })
    expect((await client.closed).code).toBe(1008)
    expect(await refusals('protocol')).toBe(1)
  })

  it('cuts off a client that does not read', async () => {
    const { server, port, refusals } = await serve({ maxUnreadBytes: 10_000 })
    const raw = connected(port)
    await until(() => server.connections === 1)
    // Answers to pings of 125 bytes: the buffers of the kernel hold megabytes.
    const pings = Buffer.alloc(60 * 131)
    for (let at = 0; at < pings.length; at += 131) pings.writeUInt16BE(0x89fd, at)
    while ((await refusals('slow_reader')) === 0) {
      raw.write(pings)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await until(() => server.connections === 0)
    raw.destroy()
  })

  it('cuts off a client that answers no ping', async () => {
    const { port, refusals } = await serve({ pingMs: 10 })
    const raw = connected(port).resume()
    await until(async () => (await refusals('silent_peer')) === 1)
    raw.destroy()
  })

  it('closes the connection whose stream is lost, with its code', async () => {
    const pool: SpeechPool = {
      open: () => ({
        step: async () => {
          throw Object.assign(new Error('gone'), { code: 'ERR_STREAM_WORKER_LOST' })
        },
        close() {},
      }),
      stats: () => ({ maxStreams: 1, waiting: 0 }),
      dispose() {},
    }
    const { port } = await serve({ pool })
    const client = await new VoiceClient(port).open()
    client.send(tone(512, 0))
    expect(await client.closed).toEqual({ code: 1011, reason: 'ERR_STREAM_WORKER_LOST' })
    expect(client.events).toEqual([{ type: 'error', code: 'ERR_STREAM_WORKER_LOST' }])
  })
})
