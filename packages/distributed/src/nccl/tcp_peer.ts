import type { Socket } from 'node:net'
import { guarded } from '@cudnn-rnn/canonical/rules'

/** Bytes before each frame: its length, then its kind. */
const HEADER_BYTES = 5
const LONGEST_FRAME = 2 ** 31
/** The first message names job and rank, or the hosts of all ranks. A stranger may send no more. */
const LONGEST_HELLO = 4096
const LONGEST_FAILURE = 10_000
/** The reason of the loss of a peer whose messages do not have this program's form. */
export const UNREADABLE = 'it sent a message that cannot be read'

/**
 * `message`: a part or the result of an exchange. `failure`: the text of an error that ends the job. `rollCall`: a request
 * for the progress of the receiver, answered by `progress`; the answers of all ranks are sent back as `roll`.
 */
const KINDS = ['message', 'failure', 'rollCall', 'progress', 'roll'] as const
export type FrameKind = (typeof KINDS)[number]

interface Waiting {
  readonly resolve: (bytes: Uint8Array) => void
  readonly reject: (error: Error) => void
}

/** The connection to another rank. Messages are taken in their order by `next`; other frames go to `onFrame`. */
export class TcpPeer {
  readonly socket: Socket
  /** The reason why the connection has ended; undefined while it is open. */
  lost: string | undefined
  onFrame: (kind: FrameKind, bytes: Uint8Array) => void = () => {}
  onLost: (reason: string) => void = () => {}
  /** Bytes of the frame that is not complete. */
  #pieces: Buffer[] = []
  #length = 0
  #longest = LONGEST_HELLO
  readonly #messages: Uint8Array[] = []
  #waiting: Waiting | undefined

  constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.setKeepAlive(true, 1000)
    const fail = () => void socket.destroy(new Error(UNREADABLE))
    socket.on(
      'data',
      guarded((piece: Buffer) => this.#receive(piece), fail),
    )
    socket.on(
      'error',
      guarded((error: Error) => this.#lose(error.message), fail),
    )
    socket.on(
      'close',
      guarded(() => this.#lose('it closed its connection'), fail),
    )
  }

  /** The other end is a rank of this job: its frames may be long. */
  trust(): void {
    this.#longest = LONGEST_FRAME
  }

  sendFailure(reason: string): void {
    this.send('failure', new TextEncoder().encode(reason).subarray(0, LONGEST_FAILURE))
  }

  send(kind: FrameKind, bytes: Uint8Array): void {
    const header = Buffer.alloc(HEADER_BYTES)
    header.writeUInt32LE(bytes.length)
    header.writeUInt8(KINDS.indexOf(kind), 4)
    this.socket.write(Buffer.concat([header, bytes]))
  }

  async next(): Promise<Uint8Array> {
    const message = this.#messages.shift()
    if (message !== undefined) return message
    if (this.lost !== undefined) throw new Error(this.lost)
    this.socket.ref()
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting = { resolve, reject }
      })
    } finally {
      this.socket.unref()
    }
  }

  #receive(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#length += piece.length
    while (this.#length >= HEADER_BYTES) {
      const header = this.#first(HEADER_BYTES)
      const end = HEADER_BYTES + header.readUInt32LE(0)
      const kind = KINDS[header.readUInt8(4)]
      if (end > this.#longest || kind === undefined) {
        this.socket.destroy(new Error('it sent a message that is too long or of no known kind'))
        return
      }
      if (this.#length < end) return
      const whole = this.#first(end)
      this.#pieces[0] = whole.subarray(end)
      this.#length -= end
      this.#take(kind, new Uint8Array(whole.subarray(HEADER_BYTES, end)))
    }
  }

  /** The received bytes, of which at least so many are in one piece: a long frame is joined once. */
  #first(bytes: number): Buffer {
    const [first] = this.#pieces
    if (first !== undefined && first.length >= bytes) return first
    const joined = Buffer.concat(this.#pieces)
    this.#pieces = [joined]
    return joined
  }

  #take(kind: FrameKind, bytes: Uint8Array): void {
    const waiting = this.#waiting
    if (kind !== 'message') {
      this.onFrame(kind, bytes)
    } else if (waiting === undefined) {
      this.#messages.push(bytes)
    } else {
      // Now, as the next message may be in the same piece.
      this.#waiting = undefined
      waiting.resolve(bytes)
    }
  }

  #lose(reason: string): void {
    if (this.lost !== undefined) return
    this.lost = reason
    this.#waiting?.reject(new Error(reason))
    this.onLost(reason)
  }
}
