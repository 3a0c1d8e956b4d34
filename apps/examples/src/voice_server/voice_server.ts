import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import {
  type AnyRule,
  checkArguments,
  checkIsObject,
  checkOptions,
  codedError,
  DELAY_MS,
  describeValue,
  guarded,
  integerFrom,
  integerIn,
  methods,
  type OptionsOf,
  optional,
  reportFailure,
  TEXT,
  typed,
} from '@cudnn-rnn/canonical/rules'
import { SAMPLE_RATE } from '@cudnn-rnn/pretrained'
import { hasErrorCode } from '@cudnn-rnn/rnn'
import { type WebSocket, WebSocketServer } from 'ws'
import { ServerMetrics } from './server_metrics.js'
import type { SpeechPool, SpeechStream } from './speech_pool.js'
import { voicePage } from './voice_page.js'
import { SESSION_LIMITS, VoiceSession } from './voice_session.js'

const OPTIONS = {
  pool: typed<SpeechPool>(methods('a pool of streams', 'open', 'stats', 'dispose') as AnyRule),
  /** Default 1,000. */
  maxConnections: optional(integerFrom(1)),
  /** Bytes of one message. Default 32,000: a second of samples. */
  maxMessageBytes: optional(integerIn(2, 2 ** 31 - 1)),
  /** Milliseconds between two pings; a client that has not answered the last one is cut off. Default 15,000. */
  pingMs: optional(DELAY_MS),
  ...SESSION_LIMITS,
}
const ADDRESS = { port: integerIn(0, 65_535), host: TEXT }

export interface VoiceServerOptions extends OptionsOf<typeof OPTIONS> {}

/** Paths are relative to it. */
const HERE = 'http://localhost'

const DEFAULTS = {
  ...{ maxConnections: 1000, maxMessageBytes: 2 * SAMPLE_RATE, pingMs: 15_000 },
  ...{ maxRate: 2, maxBurst: 2, maxUnreadBytes: 1 << 16 },
}

/**
 * Parts of one message, of WebSocket and of TCP: each takes more memory than its bytes. The sessions count the answers to
 * pings that are not read.
 */
const LIMITS_OF_WS = { maxFragments: 64, maxBufferedChunks: 1024, maxPendingAutoPongs: 0 }

/** A client that does not end its half of a refused connection is cut off. */
const LINGER_MS = 1000

/**
 * Voice activity detection over WebSocket: `/stream` takes samples, `/` is a page with a microphone, `/metrics` is for
 * Prometheus, `/livez` and `/readyz` are for the scheduler.
 */
export class VoiceServer {
  readonly metrics: ServerMetrics
  readonly #pool: SpeechPool
  readonly #limits: typeof DEFAULTS
  readonly #http: Server
  readonly #sockets: WebSocketServer
  /** Every open one: clients', and strangers' who say nothing or do not answer the end. */
  readonly #connections = new Set<Duplex>()
  readonly #sessions = new Map<WebSocket, VoiceSession>()
  readonly #unanswered = new WeakSet<WebSocket>()
  readonly #pings: NodeJS.Timeout
  #isDraining = false

  /** Takes over the pool. Throws as `openWorkerPool` for options that it does not take. */
  constructor(options: VoiceServerOptions) {
    const action = 'serve voices'
    checkIsObject(action, 'options', options)
    const { pool, ...limits } = checkOptions(action, options, OPTIONS)
    this.#pool = pool
    const given = Object.entries(limits).filter(([, value]) => value !== undefined)
    this.#limits = { ...DEFAULTS, ...Object.fromEntries(given) }
    this.metrics = new ServerMetrics(pool, () => this.#sessions.size)
    this.#http = createServer(
      guarded(
        (request, response) => this.#respond(request, response),
        (error, { socket }) => this.#fail(error, socket),
      ),
    )
    // From the first connection on those that cannot be accepted, as there are too many.
    this.#http.on(
      'error',
      guarded((error: Error) => this.#http.listening && reportFailure(error), reportFailure),
    )
    this.#http.on(
      'connection',
      guarded(
        (socket: Socket) => {
          this.#connections.add(socket)
          socket.once('close', () => this.#connections.delete(socket))
        },
        (error, socket) => this.#fail(error, socket),
      ),
    )
    this.#http.on(
      'upgrade',
      guarded(
        (request, socket, head) => this.#upgrade(request, socket, head),
        (error, _, socket) => this.#fail(error, socket),
      ),
    )
    // Samples do not compress, and a compressor takes 300 KB for each connection.
    this.#sockets = new WebSocketServer({
      ...{ noServer: true, perMessageDeflate: false, maxPayload: this.#limits.maxMessageBytes, ...LIMITS_OF_WS },
    })
    this.#pings = setInterval(
      guarded(() => this.#ping(), reportFailure),
      this.#limits.pingMs,
    ).unref()
  }

  /** TCP connections that are open. */
  get connections(): number {
    return this.#connections.size
  }

  /** Resolves to the port: the given one, or with 0 a free one. Rejects with Error `ERR_LISTEN`. */
  async listen(port: number, host = '127.0.0.1'): Promise<number> {
    checkArguments('listen', { port, host }, ADDRESS)
    try {
      const listening = once(this.#http, 'listening')
      this.#http.listen(port, host)
      await listening
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      throw codedError(
        'ERR_LISTEN',
        `Cannot listen as host and port must be a free address of this computer: current values are ${describeValue(host)} and ${port} (${code})`,
        { cause },
      )
    }
    return (this.#http.address() as AddressInfo).port
  }

  /**
   * Refuses new connections, sends every client the events of the samples that have arrived, and closes. Connections that
   * take longer than `graceMs` are cut off.
   */
  async close(graceMs = 10_000): Promise<void> {
    checkArguments('close the server', { graceMs }, { graceMs: DELAY_MS })
    if (this.#isDraining) return
    this.#isDraining = true
    clearInterval(this.#pings)
    const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()))
    for (const session of this.#sessions.values()) session.finish()
    const cutOff = () => {
      for (const socket of this.#connections) socket.destroy()
    }
    const grace = setTimeout(guarded(cutOff, reportFailure), graceMs)
    this.#http.closeIdleConnections()
    await closed
    clearTimeout(grace)
    this.#pool.dispose()
  }

  async #respond({ method, url = '/' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = url.split('?', 1)[0]
    const isReady = !this.#isDraining && this.#pool.stats().maxStreams > 0
    if (method !== 'GET' && method !== 'HEAD') send(response, 405, 'text/plain', 'only GET\n')
    else if (path === '/') send(response, 200, 'text/html; charset=utf-8', voicePage())
    else if (path === '/livez') send(response, 200, 'text/plain', 'ok\n')
    else if (path === '/readyz') send(response, isReady ? 200 : 503, 'text/plain', isReady ? 'ok\n' : 'not ready\n')
    else if (path === '/metrics') {
      send(response, 200, this.metrics.registry.contentType, await this.metrics.registry.metrics())
    } else send(response, 404, 'text/plain', 'no such page\n')
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy())
    const { url = '/' } = request
    if (!URL.canParse(url, HERE)) {
      this.metrics.refusals.inc({ reason: 'protocol' })
      refuse(socket, '400 Bad Request')
      return
    }
    const { pathname, searchParams } = new URL(url, HERE)
    if (pathname !== '/stream') {
      refuse(socket, '404 Not Found')
      return
    }
    const stream = this.#isDraining ? undefined : this.#openStream()
    if (stream === undefined) {
      this.metrics.refusals.inc({ reason: this.#isDraining ? 'draining' : 'capacity' })
      refuse(socket, '503 Service Unavailable')
      return
    }
    // Until the handshake is done, only the socket detects that its client has disconnected.
    const release = guarded(() => stream.close(), reportFailure)
    socket.once('close', release)
    this.#sockets.handleUpgrade(request, socket, head, (client) => {
      const probabilities = searchParams.get('probabilities') === '1'
      const session = new VoiceSession(client, stream, this.metrics, { ...this.#limits, probabilities })
      socket.off('close', release)
      this.#sessions.set(client, session)
      client.on('pong', () => this.#unanswered.delete(client))
      client.on('close', () => this.#sessions.delete(client))
    })
  }

  /** Ends the connection of a listener that failed, and no other. */
  #fail(error: unknown, socket: Duplex): void {
    this.metrics.refusals.inc({ reason: 'failure' })
    reportFailure(error)
    socket.destroy()
  }

  /** Undefined at the limit of connections or of the pool. */
  #openStream(): SpeechStream | undefined {
    if (this.#sessions.size >= this.#limits.maxConnections) return undefined
    try {
      return this.#pool.open()
    } catch (error) {
      if (hasErrorCode(error, 'ERR_POOL_FULL', 'ERR_NO_WORKER')) return undefined
      throw error
    }
  }

  #ping(): void {
    for (const [client, session] of this.#sessions) {
      if (this.#unanswered.has(client)) {
        session.terminate('silent_peer')
        continue
      }
      this.#unanswered.add(client)
      client.ping()
    }
  }
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
}

function refuse(socket: Duplex, status: string): void {
  // Bytes that the client still sends would hide the end of its half.
  socket.resume()
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n`)
}
