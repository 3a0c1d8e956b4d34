import { createServer, type Server, Socket } from 'node:net'
import { CommunicatorError } from '../communicator_error.js'

/** Bytes before each message: its length. */
const HEADER_BYTES = 4
const RETRY_MILLISECONDS = 100
const LONGEST_MESSAGE = 2 ** 31

export interface StarOptions {
  readonly rank: number
  readonly size: number
  /** Of the first rank. */
  readonly host: string
  readonly port: number
  /** Connections of other jobs are refused. */
  readonly job: string
  readonly timeoutSeconds: number
}

/** The messages of one peer, in their order. */
class Peer {
  readonly socket: Socket
  /** The peer's end, or its error; undefined while it is connected. */
  lost: string | undefined
  #received: Buffer = Buffer.alloc(0)
  readonly #messages: Uint8Array[] = []
  #waiting: { readonly resolve: (message: Uint8Array) => void; readonly reject: (error: Error) => void } | undefined

  constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.setKeepAlive(true, 1000)
    socket.on('data', (piece) => this.#receive(piece))
    socket.on('error', (error) => this.#lose(error.message))
    socket.on('close', () => this.#lose('it closed its connection'))
  }

  send(message: Uint8Array): void {
    const header = Buffer.alloc(HEADER_BYTES)
    header.writeUInt32LE(message.length)
    this.socket.write(Buffer.concat([header, message]))
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
      this.#waiting = undefined
      this.socket.unref()
    }
  }

  #receive(piece: Buffer): void {
    this.#received = Buffer.concat([this.#received, piece])
    while (this.#received.length >= HEADER_BYTES) {
      const length = this.#received.readUInt32LE(0)
      if (length > LONGEST_MESSAGE) {
        this.socket.destroy(new Error('it sent a message that is too long'))
        return
      }
      if (this.#received.length < HEADER_BYTES + length) return
      const message = new Uint8Array(this.#received.subarray(HEADER_BYTES, HEADER_BYTES + length))
      this.#received = this.#received.subarray(HEADER_BYTES + length)
      if (this.#waiting === undefined) this.#messages.push(message)
      else this.#waiting.resolve(message)
    }
  }

  #lose(reason: string): void {
    this.lost ??= reason
    this.#waiting?.reject(new Error(this.lost))
  }
}

/**
 * TCP connections between the first rank and every other: the ranks meet at its address, which the launcher names, and
 * exchange small messages. The gradients do not pass here.
 */
export class TcpStar {
  readonly #options: StarOptions
  readonly #server: Server | undefined
  /** Of the first rank those of ranks 1..size-1; of the others the first rank. */
  readonly #peers: readonly Peer[]
  #last: Promise<unknown> = Promise.resolve()

  private constructor(options: StarOptions, peers: readonly Peer[], server?: Server) {
    this.#options = options
    this.#peers = peers
    this.#server = server
    for (const { socket } of peers) socket.unref()
    server?.unref()
  }

  /** Waits for all ranks. Throws CommunicatorError `ERR_COMMUNICATOR_UNAVAILABLE`. */
  static async open(options: StarOptions): Promise<TcpStar> {
    return options.rank === 0 ? await TcpStar.#listen(options) : await TcpStar.#connect(options)
  }

  static async #listen(options: StarOptions): Promise<TcpStar> {
    const { size, port, job, timeoutSeconds } = options
    const peers = new Map<number, Peer>()
    const server = createServer()
    await new Promise<void>((resolve, reject) => {
      const fail = (reason: string) => {
        for (const { socket } of peers.values()) socket.destroy()
        server.close()
        reject(unavailable(options, reason))
      }
      const late = setTimeout(() => {
        fail(`${peers.size} of ${size - 1} other ranks have connected within ${timeoutSeconds} s`)
      }, timeoutSeconds * 1000)
      const done = () => {
        clearTimeout(late)
        resolve()
      }
      server.on('error', (error) => {
        clearTimeout(late)
        fail(error.message)
      })
      server.on('connection', async (socket) => {
        const peer = new Peer(socket)
        const hello = await peer.next().catch(() => undefined)
        const rank = hello === undefined ? undefined : rankOf(hello, { job, size })
        if (rank === undefined || peers.has(rank)) {
          socket.destroy()
          return
        }
        peers.set(rank, peer)
        if (peers.size === size - 1) done()
      })
      server.listen(port)
      if (size === 1) done()
    })
    const inOrder = [...peers].sort(([a], [b]) => a - b).map(([, peer]) => peer)
    for (const peer of inOrder) peer.send(new Uint8Array(0))
    return new TcpStar(options, inOrder, server)
  }

  static async #connect(options: StarOptions): Promise<TcpStar> {
    const { rank, size, host, port, job, timeoutSeconds } = options
    const end = performance.now() + timeoutSeconds * 1000
    for (let reason = ''; ; ) {
      try {
        const peer = new Peer(await connected(host, port))
        peer.send(new TextEncoder().encode(JSON.stringify({ job, rank, size })))
        await withDeadline(peer.next(), (end - performance.now()) / 1000)
        return new TcpStar(options, [peer])
      } catch (error) {
        reason = (error as Error).message
      }
      if (performance.now() > end) throw unavailable(options, reason)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MILLISECONDS))
    }
  }

  /** The messages of all ranks, in their order. Rejects with an Error that names the rank that is missing. */
  allGather(message: Uint8Array): Promise<Uint8Array[]> {
    const gathered = this.#last.then(() => this.#exchange(message))
    this.#last = gathered.catch(() => {})
    return gathered
  }

  /** Ends the connections, after a last exchange. */
  close(): void {
    for (const { socket } of this.#peers) socket.end()
    this.#server?.close()
  }

  async #exchange(message: Uint8Array): Promise<Uint8Array[]> {
    const { rank, timeoutSeconds } = this.#options
    const [first] = this.#peers
    if (rank > 0 && first !== undefined) {
      first.send(message)
      return partsOf(await this.#from(first, 0, timeoutSeconds))
    }
    const parts = [message]
    for (const [index, peer] of this.#peers.entries()) parts.push(await this.#from(peer, index + 1, timeoutSeconds))
    const joined = joinedParts(parts)
    for (const peer of this.#peers) peer.send(joined)
    return parts.map((part) => part.slice())
  }

  async #from(peer: Peer, rank: number, seconds: number): Promise<Uint8Array> {
    try {
      return await withDeadline(peer.next(), seconds)
    } catch (error) {
      throw new Error(`rank ${rank} of ${this.#options.size}: ${(error as Error).message}`)
    }
  }
}

/** The rank of a peer that belongs to this job. */
function rankOf(hello: Uint8Array, { job, size }: Pick<StarOptions, 'job' | 'size'>): number | undefined {
  try {
    const given = JSON.parse(new TextDecoder().decode(hello)) as { job?: unknown; rank?: unknown; size?: unknown }
    const isRank = Number.isInteger(given.rank) && (given.rank as number) > 0 && (given.rank as number) < size
    return given.job === job && given.size === size && isRank ? (given.rank as number) : undefined
  } catch {
    return undefined
  }
}

function connected(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = new Socket()
    socket.once('error', reject)
    socket.connect(port, host, () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}

async function withDeadline<Result>(result: Promise<Result>, seconds: number): Promise<Result> {
  let late: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new Error(`no message within ${seconds} s`)), seconds * 1000)
  })
  try {
    return await Promise.race([result, deadline])
  } finally {
    clearTimeout(late)
  }
}

/** Each part behind its length. */
function joinedParts(parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(
    parts.flatMap((part) => {
      const header = Buffer.alloc(HEADER_BYTES)
      header.writeUInt32LE(part.length)
      return [header, part]
    }),
  )
}

function partsOf(joined: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = []
  const view = new DataView(joined.buffer, joined.byteOffset, joined.byteLength)
  for (let at = 0; at < joined.length; ) {
    const length = view.getUint32(at, true)
    parts.push(joined.slice(at + HEADER_BYTES, at + HEADER_BYTES + length))
    at += HEADER_BYTES + length
  }
  return parts
}

function unavailable({ rank, size, host, port }: StarOptions, reason: string): CommunicatorError {
  return new CommunicatorError(
    'ERR_COMMUNICATOR_UNAVAILABLE',
    `Cannot open communicator as rank ${rank} of ${size} must reach the other ranks at ${host}:${port}: ${reason}. Name another port in CUDNN_RNN_RENDEZVOUS_PORT where it is in use`,
  )
}
