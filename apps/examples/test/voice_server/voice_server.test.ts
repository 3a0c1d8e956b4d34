import { connect, type Socket } from 'node:net'
import { Philox } from '@cudnn-rnn/rnn/executors'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import type { SpeechPool } from '../../src/voice_server/speech_pool.js'
import { VoiceServer, type VoiceServerOptions } from '../../src/voice_server/voice_server.js'
import { energyPool, tone } from './energy_pool.js'
import { VoiceClient } from './voice_client.js'

const servers: VoiceServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close(0)
})

async function serve(options: Partial<VoiceServerOptions> = {}) {
  const server = new VoiceServer({ pool: energyPool(), ...options })
  servers.push(server)
  const port = await server.listen(0)
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: response.status, text: await response.text() }
  }
  const refusals = async (reason: string) => {
    const { values } = await server.metrics.refusals.get()
    return values.find(({ labels }) => labels.reason === reason)?.value ?? 0
  }
  return { server, port, get, refusals }
}

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

/** Waits for a state of the server that the client does not see. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5))
}

describe('VoiceServer', () => {
  it('reports where speech begins and ends', async () => {
    const { port, get } = await serve()
    const client = await new VoiceClient(port).open()
    // Messages of any length: 10 frames of silence, 10 of speech, 10 of silence.
    for (const amplitude of [0, 0.5, 0]) client.send(tone(5000, amplitude)).send(tone(120, amplitude))
    expect(await client.end()).toEqual({ code: 1000, reason: 'all samples are processed' })
    expect(client.events).toEqual([
      { type: 'speech_start', time: 0.32 },
      { type: 'speech_end', time: 0.64 },
    ])
    const { text } = await get('/metrics')
    expect(text).toContain('voice_frames_total 30')
    expect(text).toContain('voice_events_total{type="speech_start"} 1')
    expect(text).toContain('voice_frame_latency_seconds_count 30')
    expect(text).toContain('voice_connections 0')
    expect(text).toMatch(/nodejs_eventloop_lag_p99_seconds \S/)
  })

  it('sends probabilities to clients that request them, and ends speech with the input', async () => {
    const { port } = await serve()
    const client = await new VoiceClient(port, '?probabilities=1').open()
    client.send(tone(1024, 0.125))
    await client.end()
    expect(client.events.map(({ type }) => type)).toEqual(['probability', 'speech_start', 'probability', 'speech_end'])
    expect(client.events[0]['probability']).toBeCloseTo(0.5, 2)
  })

  it.each<[string, Record<string, unknown>]>([
    ['ERR_INVALID_OPTION_TYPE', { pool: {} }],
    ['ERR_INVALID_OPTION', { pingMs: 2 ** 31 }],
    ['ERR_INVALID_OPTION', { maxRate: Number.NaN }],
    ['ERR_UNKNOWN_OPTION', { maxRates: 2 }],
  ])('refuses with %s the options %o', (code, options) => {
    expect(() => new VoiceServer({ pool: energyPool(), ...options })).toThrow(coded(code))
  })

  it('names an address that it cannot take, and times that no timer can wait', async () => {
    const { port } = await serve()
    const server = new VoiceServer({ pool: energyPool() })
    servers.push(server)
    await expect(server.listen(port)).rejects.toThrow(
      coded('ERR_LISTEN', { message: expect.stringContaining('EADDRINUSE') }),
    )
    await expect(server.close(2 ** 31)).rejects.toThrow(coded('ERR_INVALID_OPTION'))
  })

  it('outlives any bytes: requests and frames with wrong ones, cut off anywhere', async () => {
    const { server, port, get, refusals } = await serve({ pingMs: 20 })
    const random = new Philox(1)
    const below = (count: number) => Math.floor(random.uniform() * count)
    const handshake = 'sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n'
    const head = `GET /stream HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n${handshake}\r\n`
    // Masked by zeros: a text, samples, a ping, and the end of the connection.
    const frames = [0x81, 0x82, 0x89, 0x88].map((kind) => Buffer.of(kind, 0x82, 0, 0, 0, 0, 0x7b, 0x7d))
    await Promise.all(
      Array.from({ length: 300 }, async () => {
        const bytes = Buffer.concat([Buffer.from(head), ...frames.slice(below(4)), ...frames.slice(below(4))])
        const isHandshakeKept = random.uniform() < 0.5
        for (let count = below(4); count > 0; count--) {
          const from = isHandshakeKept ? head.length : 0
          if (bytes.length > from) bytes[from + below(bytes.length - from)] = below(256)
        }
        const socket = connect(port, '127.0.0.1').on('error', () => undefined)
        socket.resume().end(random.uniform() < 0.5 ? bytes : bytes.subarray(0, below(bytes.length)))
        await new Promise((resolve) => socket.on('close', resolve))
      }),
    )
    expect(await get('/livez')).toEqual({ status: 200, text: 'ok\n' })
    await until(() => server.connections <= 1)
    expect(await refusals('failure')).toBe(0)
  })

  it('answers health checks, the page and nothing else', async () => {
    const { get, port } = await serve()
    expect(await get('/livez')).toEqual({ status: 200, text: 'ok\n' })
    expect(await get('/readyz')).toEqual({ status: 200, text: 'ok\n' })
    expect((await get('/')).text).toContain('<title>Voice activity</title>')
    expect((await get('/other')).status).toBe(404)
    expect((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST' })).status).toBe(405)
    expect(await new VoiceClient(port, '/other').refused()).toBe(404)
  })

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

  it('is not ready while no worker is', async () => {
    const pool: SpeechPool = {
      open() {
        throw Object.assign(new RangeError('no worker'), { code: 'ERR_NO_WORKER' })
      },
      stats: () => ({ maxStreams: 0, waiting: 0 }),
      dispose() {},
    }
    const { port, get } = await serve({ pool })
    expect((await get('/readyz')).status).toBe(503)
    expect((await get('/livez')).status).toBe(200)
    expect(await new VoiceClient(port).refused()).toBe(503)
  })

  it.each([
    ['a message above the limit', { maxMessageBytes: 1000 }, tone(501, 0), 1009, 'frame_size'],
    ['half a sample', {}, Buffer.alloc(3), 1003, 'protocol'],
    ['samples faster than the limit', { maxBurst: 0.1, maxRate: 0.001 }, tone(1601, 0), 1008, 'rate'],
  ] as const)('closes a connection for %s', async (_, options, message, code, reason) => {
    const { port, refusals } = await serve(options)
    const client = await new VoiceClient(port).open()
    client.send(message)
    expect((await client.closed).code).toBe(code)
    await until(async () => (await refusals(reason)) === 1)
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

  it('drains at shutdown: clients receive the events of the audio they sent, others are refused', async () => {
    let release = (): void => undefined
    const pool = energyPool()
    const open = pool.open.bind(pool)
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    pool.open = () => {
      const stream = open()
      const step = stream.step.bind(stream)
      stream.step = (frame) => {
        const result = step(frame)
        return held.then(() => result)
      }
      return stream
    }
    const { server, port, get } = await serve({ pool })
    const client = await new VoiceClient(port).open()
    client.send(tone(1024, 0.5))
    await until(() => pool.stats().steps === 2)
    const idle = await new VoiceClient(port).open()
    const closing = server.close()
    expect((await idle.closed).code).toBe(1001)
    await expect(get('/readyz')).rejects.toThrow()
    release()
    expect(await client.closed).toEqual({ code: 1001, reason: 'the server shuts down' })
    expect(client.events.map(({ type }) => type)).toEqual(['speech_start', 'speech_end'])
    await closing
  })

  it('cuts off clients that do not close within the grace period', async () => {
    const { server, port } = await serve()
    const client = await new VoiceClient(port).open()
    client.socket.pause()
    await server.close(20)
    client.socket.terminate()
  })
})
