import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ServerMetrics } from '../../src/voice_server/server_metrics.js'
import { type SessionLimits, VoiceSession } from '../../src/voice_server/voice_session.js'
import { energyPool, tone } from './energy_pool.js'

/** A connection without a network, which keeps the events and the close that it was given. */
class Socket extends EventEmitter {
  bufferedAmount = 0
  isTerminated = false
  readonly events: { readonly type: string; readonly code?: string }[] = []
  readonly closes: (readonly [code: number, reason: string])[] = []

  send(text: string): void {
    this.events.push(JSON.parse(text))
  }

  close(code: number, reason: string): void {
    this.closes.push([code, reason])
  }

  terminate(): void {
    this.isTerminated = true
  }

  get types(): string[] {
    return this.events.map(({ type }) => type)
  }
}

/** Waits long enough for the pool to compute a waiting frame, which takes one turn of the event loop. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 5))

let pool: ReturnType<typeof energyPool>
let metrics: ServerMetrics
beforeEach(() => {
  pool = energyPool()
  metrics = new ServerMetrics(pool, () => 1)
})
afterEach(() => {
  pool.dispose()
})

const refusals = async () =>
  (await metrics.refusals.get()).values.map(({ labels, value }) => [labels.reason, value] as const)

function connected(changes: Partial<SessionLimits & { probabilities: boolean }> = {}) {
  const socket = new Socket()
  const limits = { maxRate: 2, maxBurst: 2, maxUnreadBytes: 65_536, probabilities: true, ...changes }
  const session = new VoiceSession(socket as never, pool.open(), metrics, limits)
  return { socket, session, send: (bytes: Buffer) => socket.emit('message', bytes, true) }
}

describe('VoiceSession', () => {
  it('has a probability for each whole frame, in messages of any even length', async () => {
    const { socket, send } = connected()
    const bytes = tone(3 * 512 + 100, 0.01)
    for (let begin = 0; begin < bytes.length; begin += 314) send(bytes.subarray(begin, begin + 314))
    await vi.waitFor(() => expect(socket.types).toEqual(['probability', 'probability', 'probability']), {
      timeout: 60_000,
    })
    expect((await metrics.frames.get()).values[0]?.value).toBe(3)
  })

  it('sends no probabilities to a client that does not request them', async () => {
    const { socket, send } = connected({ probabilities: false })
    send(tone(512, 0.01))
    await settled()
    expect(socket.events).toEqual([])
  })

  it('refuses half a sample, and takes nothing after it', async () => {
    const { socket, send } = connected()
    send(Buffer.alloc(3))
    send(tone(512, 0.5))
    await settled()
    expect(socket.closes).toEqual([[1003, 'a message must hold whole samples of 16 bits']])
    expect(socket.events).toEqual([])
    expect(await refusals()).toEqual([['protocol', 1]])
  })

  it('refuses samples above its rate', async () => {
    const { socket, send } = connected({ maxBurst: 0.05 })
    send(tone(800, 0.01))
    expect(socket.closes).toEqual([])
    send(tone(800, 0.01))
    expect(socket.closes).toEqual([[1008, 'samples arrive faster than the limit']])
    expect(await refusals()).toEqual([['rate', 1]])
  })

  it('closes once all frames before the end of the input have their events', async () => {
    const { socket, send } = connected()
    for (let frame = 0; frame < 20; frame++) send(tone(512, 0.9))
    socket.emit('message', Buffer.from('{"type":"end"}'), false)
    send(tone(512, 0.9))
    await vi.waitFor(() => expect(socket.closes).toEqual([[1000, 'all samples are processed']]), { timeout: 60_000 })
    expect(socket.types.filter((type) => type === 'probability')).toHaveLength(20)
    expect(socket.types.filter((type) => type !== 'probability')).toHaveLength(2)
    expect(await refusals()).toEqual([])
  })

  it('keeps the first of two ends', async () => {
    const { socket, session } = connected()
    session.finish()
    session.finish(1000, 'later')
    expect(socket.closes).toEqual([[1001, 'the server shuts down']])
  })

  it('ends a client that leaves its events unread, once', async () => {
    const { socket, session, send } = connected({ maxUnreadBytes: 100 })
    socket.bufferedAmount = 101
    send(tone(512, 0.01))
    send(tone(512, 0.01))
    await settled()
    session.terminate('silent_peer')
    expect([socket.isTerminated, socket.events, socket.closes]).toEqual([true, [], []])
    expect(await refusals()).toEqual([['slow_reader', 1]])
  })

  it('ends a client that pings and leaves the answers unread', async () => {
    const { socket } = connected({ maxUnreadBytes: 100 })
    socket.emit('ping', Buffer.alloc(125))
    expect(socket.isTerminated).toBe(false)
    socket.bufferedAmount = 101
    socket.emit('ping', Buffer.alloc(125))
    expect(socket.isTerminated).toBe(true)
    expect(await refusals()).toEqual([['slow_reader', 1]])
  })

  it('reports the code of a stream that fails, and closes', async () => {
    const { socket, send } = connected()
    pool.dispose()
    send(tone(512, 0.01))
    await vi.waitFor(() => expect(socket.closes).toHaveLength(1), { timeout: 60_000 })
    const [event] = socket.events
    expect(event).toEqual({ type: 'error', code: expect.stringMatching(/^ERR_/) })
    expect(socket.closes).toEqual([[1011, event?.code]])
    expect(await refusals()).toEqual([['stream_lost', 1]])
  })

  it('returns its stream when its client leaves, and counts messages above the limit', async () => {
    const only = energyPool(1)
    try {
      const socket = new Socket()
      const limits = { maxRate: 2, maxBurst: 2, maxUnreadBytes: 65_536, probabilities: true }
      new VoiceSession(socket as never, only.open(), metrics, limits)
      expect(() => only.open()).toThrow()
      socket.emit('error', Object.assign(new Error('too long'), { code: 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' }))
      socket.emit('error', new Error('invalid frame'))
      socket.emit('close')
      expect(() => only.open().close()).not.toThrow()
      expect(await refusals()).toEqual([
        ['frame_size', 1],
        ['protocol', 1],
      ])
    } finally {
      only.dispose()
    }
  })
})

describe('ServerMetrics', () => {
  it('reads connections and pool at each request', async () => {
    let connections = 3
    const own = new ServerMetrics(pool, () => connections)
    expect(await own.registry.metrics()).toMatch(/^voice_connections 3$/m)
    connections = 4
    const text = await own.registry.metrics()
    expect(text).toMatch(/^voice_connections 4$/m)
    expect(text).toMatch(/^voice_streams_max 8$/m)
    expect(text).toMatch(/^voice_workers_lost 0$/m)
  })

  it('has numbers of its server alone', async () => {
    new ServerMetrics(pool, () => 0).frames.inc(5)
    expect((await metrics.frames.get()).values[0]?.value).toBe(0)
  })
})
