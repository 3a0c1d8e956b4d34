import { once } from 'node:events'
import { WebSocket } from 'ws'

/** A client of the voice server that collects events. */
export class VoiceClient {
  readonly socket: WebSocket
  readonly events: { readonly type: string; readonly [field: string]: unknown }[] = []
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>

  constructor(port: number, query = '') {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}/stream${query}`)
    this.socket.on('message', (data) => this.events.push(JSON.parse(String(data))))
    this.closed = new Promise((resolve) => {
      this.socket.on('close', (code, reason) => resolve({ code, reason: String(reason) }))
    })
    // A refused handshake is both an error and a close.
    this.socket.on('error', () => undefined)
  }

  async open(): Promise<this> {
    await once(this.socket, 'open')
    return this
  }

  /** The status of a handshake that is refused. */
  async refused(): Promise<number | undefined> {
    const [, response] = (await once(this.socket, 'unexpected-response')) as [unknown, { statusCode?: number }]
    return response.statusCode
  }

  send(samples: Buffer): this {
    this.socket.send(samples)
    return this
  }

  /** Requests the rest of the events; resolves when the server closed the connection. */
  end(): Promise<{ readonly code: number; readonly reason: string }> {
    this.socket.send('{"type":"end"}')
    return this.closed
  }
}
