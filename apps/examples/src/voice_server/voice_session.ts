import { guarded, integerFrom, optional, POSITIVE, reportFailure } from '@cudnn-rnn/canonical/rules'
import { FRAME, SAMPLE_RATE, SpeechDetector, type SpeechEvent } from '@cudnn-rnn/pretrained'
import type { WebSocket } from 'ws'
import type { RefusalReason, ServerMetrics } from './server_metrics.js'
import type { SpeechStream } from './speech_pool.js'

export const SESSION_LIMITS = {
  /** Audio that may arrive in a second, in seconds. Default 2: a client may catch up. */
  maxRate: optional(POSITIVE),
  /** Audio that may arrive at once, in seconds. Default 2. */
  maxBurst: optional(POSITIVE),
  /** Bytes of events that a client may leave unread. Default 64 KiB. */
  maxUnreadBytes: optional(integerFrom(0)),
}

/** Limits of one connection. */
export type SessionLimits = { readonly [Name in keyof typeof SESSION_LIMITS]: number }

type Sent =
  | SpeechEvent
  | { readonly type: 'probability'; readonly probability: number }
  | { readonly type: 'error'; readonly code: string }

/** Close codes of RFC 6455 and of the registry of WebSocket close codes. */
const CLOSE = Object.freeze({ normal: 1000, goingAway: 1001, unsupported: 1003, policy: 1008, failure: 1011 })

/** Largest payload of a close frame, in bytes. */
const LONGEST_REASON = 123

/**
 * One connection: 16-bit little-endian samples at 16 kHz in, in messages of any even length; events as JSON out. A text
 * message `{"type":"end"}` requests the events of all samples sent so far and the end of the connection.
 */
export class VoiceSession {
  readonly #socket: WebSocket
  readonly #stream: SpeechStream
  readonly #metrics: ServerMetrics
  readonly #limits: SessionLimits
  readonly #wantsProbabilities: boolean
  readonly #detector = new SpeechDetector(FRAME / SAMPLE_RATE)
  readonly #rate: RateLimit
  readonly #frame = new Float32Array(FRAME)
  #filled = 0
  #waiting = 0
  #ending: { readonly code: number; readonly reason: string } | undefined
  #isClosed = false

  constructor(
    socket: WebSocket,
    stream: SpeechStream,
    metrics: ServerMetrics,
    limits: SessionLimits & { readonly probabilities: boolean },
  ) {
    this.#socket = socket
    this.#stream = stream
    this.#metrics = metrics
    this.#limits = limits
    this.#wantsProbabilities = limits.probabilities
    this.#rate = new RateLimit(limits.maxRate * SAMPLE_RATE, limits.maxBurst * SAMPLE_RATE)
    const receive = (data: Buffer, isBinary: boolean) => {
      if (isBinary) this.#receive(data)
      else this.#command(data.toString('utf8'))
    }
    socket.on('message', guarded(receive, this.#fail))
    // Answers to pings that the client leaves unread are held here.
    socket.on(
      'ping',
      guarded(() => this.#isRead(), this.#fail),
    )
    socket.on(
      'close',
      guarded(() => this.#release(), reportFailure),
    )
    // Such as a message above the limit: ws closes the connection with its code.
    const count = ({ code }: Error & { code?: string }) =>
      this.#metrics.refusals.inc({ reason: code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' ? 'frame_size' : 'protocol' })
    socket.on('error', guarded(count, this.#fail))
  }

  /** Handles an exception of a listener: ends this connection, and no other. */
  readonly #fail = (error: unknown): void => {
    reportFailure(error)
    this.terminate('failure')
  }

  /** Takes no more samples, sends the events of those taken, and closes the connection. */
  finish(code: number = CLOSE.goingAway, reason = 'the server shuts down'): void {
    if (this.#ending !== undefined) return
    this.#ending = { code, reason }
    this.#finishIfIdle()
  }

  /** Ends the connection without its closing handshake: its client does not read. */
  terminate(reason: RefusalReason): void {
    if (this.#isClosed) return
    this.#metrics.refusals.inc({ reason })
    this.#release()
    this.#socket.terminate()
  }

  #receive(data: Buffer): void {
    if (this.#ending !== undefined || this.#isClosed) return
    if (data.length % 2 !== 0) {
      this.#refuse(CLOSE.unsupported, 'protocol', 'a message must hold whole samples of 16 bits')
      return
    }
    if (!this.#rate.take(data.length / 2)) {
      this.#refuse(CLOSE.policy, 'rate', 'samples arrive faster than the limit')
      return
    }
    for (let begin = 0; begin < data.length; ) {
      const end = Math.min(data.length, begin + 2 * (FRAME - this.#filled))
      readPcm16(data.subarray(begin, end), this.#frame, this.#filled)
      this.#filled += (end - begin) / 2
      begin = end
      if (this.#filled === FRAME) this.#step()
    }
  }

  #command(text: string): void {
    if (text === '{"type":"end"}') this.finish(CLOSE.normal, 'all samples are processed')
    else this.#refuse(CLOSE.unsupported, 'protocol', 'a text message must be {"type":"end"}')
  }

  #step(): void {
    this.#filled = 0
    this.#waiting++
    const since = performance.now()
    // The pool copies the frame.
    this.#stream
      .step({ data: this.#frame, shape: [FRAME] })
      .then(
        ({ data }) => {
          this.#waiting--
          if (this.#isClosed) return
          this.#metrics.frames.inc()
          this.#metrics.latency.observe((performance.now() - since) / 1000)
          this.#report(data[0])
          this.#finishIfIdle()
        },
        (error: unknown) => {
          this.#waiting--
          const code = error instanceof Error && 'code' in error ? String(error.code) : 'ERR_INTERNAL'
          this.#send({ type: 'error', code })
          this.#refuse(CLOSE.failure, 'stream_lost', code.slice(0, LONGEST_REASON))
        },
      )
      .catch(this.#fail)
  }

  #report(probability: number): void {
    const event = this.#detector.next(probability)
    if (this.#wantsProbabilities) this.#send({ type: 'probability', probability })
    if (event !== undefined) this.#send(event)
  }

  /** Whether the client reads its messages; one that does not is cut off. */
  #isRead(): boolean {
    if (this.#socket.bufferedAmount <= this.#limits.maxUnreadBytes) return true
    this.terminate('slow_reader')
    return false
  }

  #send(event: Sent): void {
    if (this.#isClosed || !this.#isRead()) return
    this.#metrics.events.inc({ type: event.type })
    this.#socket.send(JSON.stringify(event))
  }

  #finishIfIdle(): void {
    if (this.#ending === undefined || this.#waiting > 0 || this.#isClosed) return
    const last = this.#detector.finish()
    if (last !== undefined) this.#send(last)
    const { code, reason } = this.#ending
    this.#release()
    this.#socket.close(code, reason)
  }

  #refuse(code: number, reason: RefusalReason, text: string): void {
    if (this.#isClosed) return
    this.#metrics.refusals.inc({ reason })
    this.#release()
    this.#socket.close(code, text)
  }

  #release(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#stream.close()
  }
}

const FULL_SCALE = 32_768

/** Reads 16-bit little-endian integers as samples in -1..1 into `samples`, from its element `begin` on. */
export function readPcm16(bytes: Buffer, samples: Float32Array, begin: number): void {
  // A view, as Buffer.readInt16LE takes three times as long. An Int16Array would need an even offset.
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  for (let index = 0; index < bytes.length / 2; index++) {
    samples[begin + index] = view.getInt16(2 * index, true) / FULL_SCALE
  }
}

/** A token bucket: `perSecond` units a second, and as many as `burst` at once. */
export class RateLimit {
  readonly #perSecond: number
  readonly #burst: number
  readonly #now: () => number
  #units: number
  #at: number

  /** @param now milliseconds, as `performance.now` */
  constructor(perSecond: number, burst: number, now: () => number = () => performance.now()) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#now = now
    this.#units = burst
    this.#at = now()
  }

  /** Takes `units`, or none and returns false. */
  take(units: number): boolean {
    const now = this.#now()
    this.#units = Math.min(this.#burst, this.#units + ((now - this.#at) / 1000) * this.#perSecond)
    this.#at = now
    if (units > this.#units) return false
    this.#units -= units
    return true
  }
}
