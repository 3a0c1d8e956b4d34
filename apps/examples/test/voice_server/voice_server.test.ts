import { connect } from 'node:net'
import { Philox } from '@cudnn-rnn/rnn/executors'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import type { SpeechPool } from '../../src/voice_server/speech_pool.js'
import { VoiceServer } from '../../src/voice_server/voice_server.js'
import { energyPool, tone } from './energy_pool.js'
import { until, usesServers } from './served_voices.js'
import { VoiceClient } from './voice_client.js'

const { servers, serve } = usesServers()

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
