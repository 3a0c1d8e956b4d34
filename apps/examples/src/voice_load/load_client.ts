import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { required } from '@cudnn-rnn/canonical/rules'
import { FRAME, SAMPLE_RATE } from '@cudnn-rnn/pretrained'
import { WebSocket } from 'ws'

const FRAME_MS = (1000 * FRAME) / SAMPLE_RATE
/** Frames of all connections are spread over this many moments of a frame. */
const PHASES = 16

/** Measurements of a number of streams in one window of time. */
export interface LoadWindow {
  readonly streams: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly sent: number
  readonly answered: number
  /** Connections that the server closed. */
  readonly lost: number
}

/** Real-time clients of one server: each sends a frame every 32 ms and waits for the probability. */
export class LoadClient {
  readonly #port: number
  readonly #connections: Connection[] = []
  readonly #frames: readonly Buffer[]
  readonly #timer: NodeJS.Timeout
  readonly #started = performance.now()
  #ticks = 0
  #isMeasuring = false
  #latencies: number[] = []
  #sent = 0
  #lost = 0

  /** @param samples 16-bit samples that every client sends, each from another place on. */
  constructor(port: number, samples: Buffer) {
    this.#port = port
    const bytes = 2 * FRAME
    this.#frames = Array.from({ length: Math.floor(samples.length / bytes) }, (_, k) =>
      samples.subarray(k * bytes, (k + 1) * bytes),
    )
    this.#timer = setInterval(() => this.#tick(), FRAME_MS / PHASES / 2)
  }

  /** Opens or closes connections until there are `count`. */
  async resize(count: number): Promise<void> {
    for (const { socket } of this.#connections.splice(count)) socket.terminate()
    while (this.#connections.length < count) {
      // A few at a time: the handshakes of all would be a separate load.
      const opening = Math.min(16, count - this.#connections.length)
      this.#connections.push(...(await Promise.all(Array.from({ length: opening }, () => this.#connect()))))
    }
  }

  /** Lets the load run for `settleSeconds`, and measures it for `seconds`. */
  async measure(settleSeconds: number, seconds: number): Promise<LoadWindow> {
    await sleep(1000 * settleSeconds)
    this.#latencies = []
    this.#sent = 0
    this.#lost = 0
    this.#isMeasuring = true
    await sleep(1000 * seconds)
    this.#isMeasuring = false
    const sorted = Float64Array.from(this.#latencies).sort()
    const rank = (quantile: number) =>
      sorted[Math.max(0, Math.ceil(quantile * sorted.length) - 1)] ?? Number.POSITIVE_INFINITY
    return {
      streams: this.#connections.length,
      ...{ p50Ms: rank(0.5), p99Ms: rank(0.99) },
      ...{ sent: this.#sent, answered: sorted.length, lost: this.#lost },
    }
  }

  close(): void {
    clearInterval(this.#timer)
    for (const { socket } of this.#connections.splice(0)) socket.terminate()
  }

  async #connect(): Promise<Connection> {
    const socket = new WebSocket(`ws://127.0.0.1:${this.#port}/stream?probabilities=1`, { perMessageDeflate: false })
    const connection: Connection = { socket, sentAt: [], frame: Math.floor(Math.random() * this.#frames.length) }
    socket.on('message', (data: Buffer) => {
      // Events of speech are not answers to a frame.
      if (!data.includes('probability')) return
      const sentAt = required(connection.sentAt.shift(), 'the server answers each frame once')
      if (this.#isMeasuring) this.#latencies.push(performance.now() - sentAt)
    })
    socket.on('close', () => this.#lost++)
    await once(socket, 'open')
    return connection
  }

  /** Sends the frames of the phases that are due since the last tick. */
  #tick(): void {
    const due = Math.floor((performance.now() - this.#started) / (FRAME_MS / PHASES))
    for (; this.#ticks < due; this.#ticks++) {
      for (let index = this.#ticks % PHASES; index < this.#connections.length; index += PHASES) {
        const connection = this.#connections[index]
        if (connection.socket.readyState !== WebSocket.OPEN) continue
        if (this.#isMeasuring) this.#sent++
        connection.sentAt.push(performance.now())
        connection.socket.send(this.#frames[connection.frame++ % this.#frames.length])
      }
    }
  }
}

interface Connection {
  readonly socket: WebSocket
  /** Times of frames whose probability has not arrived. */
  readonly sentAt: number[]
  frame: number
}
