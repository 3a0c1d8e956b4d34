import { createServer, Socket } from 'node:net'
import { hostname } from 'node:os'
import { guarded, visibleMessage, visibleText } from '@cudnn-rnn/canonical/rules'
import { CommunicatorError } from '../communicator_error.js'
import { type Progress, progressOf, whereElse } from './call_progress.js'
import { type FrameKind, TcpPeer, UNREADABLE } from './tcp_peer.js'

const RETRY_MILLISECONDS = 100
const ROLL_CALL_SECONDS = 2
/** The first rank waits for the answers of the others. */
const ROLL_SECONDS = 3
/** All ranks have one deadline: the others wait longer for the first, which names the ranks that are missing. */
const OPENING_GRACE_SECONDS = 5
const LONGEST_HOST = 64
/** A connection that has not named its job and rank for so long is none of a rank. */
const HELLO_SECONDS = 5

/** The meeting place of the ranks of a job. */
export interface Rendezvous {
  readonly rank: number
  readonly size: number
  /** Host of the first rank. */
  readonly host: string
  readonly port: number
  /** The address at which the first rank listens; all if it is left out. */
  readonly listenOn?: string | undefined
  /** Connections of other jobs are refused. */
  readonly job: string
}

export interface StarOptions extends Rendezvous {
  readonly timeoutSeconds: number
  /** The calls of this rank, for a roll call. */
  readonly progress: () => Progress
}

interface Hello {
  readonly rank: number
  readonly host: string
}

type Roll = readonly (Progress | null)[]

/**
 * TCP connections between the first rank and every other: the ranks connect to its address, which the launcher names, and
 * exchange small messages. The gradients do not pass here. The first rank sends an error that it knows, a lost
 * connection or the failure of a rank, to all others, so that all of them name its cause.
 */
export class TcpStar {
  readonly #options: StarOptions
  /** The first rank has ranks 1..size-1; the others have the first rank. */
  readonly #peers: readonly TcpPeer[]
  /** By rank. */
  readonly #hosts: readonly string[]
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false
  #failure: string | undefined
  /** The rejections of the calls in progress. */
  readonly #rejects = new Set<(error: Error) => void>()
  #roll: Promise<Roll> | undefined
  readonly #answers = new Map<number, Progress>()
  #answered: () => void = () => {}

  private constructor(options: StarOptions, peers: readonly TcpPeer[], hosts: readonly string[]) {
    this.#options = options
    this.#peers = peers
    this.#hosts = hosts
    for (const [index, peer] of peers.entries()) {
      const rank = options.rank === 0 ? index + 1 : 0
      peer.socket.unref()
      peer.onFrame = (kind, bytes) => this.#take(peer, rank, kind, bytes)
      peer.onLost = (reason) => this.fail(`${this.name(rank)}: ${reason}`)
      if (peer.lost !== undefined) peer.onLost(peer.lost)
    }
  }

  /** Waits for all ranks. Throws CommunicatorError `ERR_COMMUNICATOR_UNAVAILABLE`. */
  static async open(options: StarOptions): Promise<TcpStar> {
    return options.rank === 0 ? await TcpStar.#listen(options) : await TcpStar.#connect(options)
  }

  static async #listen(options: StarOptions): Promise<TcpStar> {
    const { size, port, listenOn, job, timeoutSeconds } = options
    const peers = new Map<number, TcpPeer>()
    /** Connections that have not said which rank they are. */
    const strangers = new Set<Socket>()
    const hosts = [ownHost()]
    const server = createServer()
    /** The star is complete: a stranger must not hold the process. */
    const closeServer = () => {
      server.close()
      for (const socket of strangers) socket.destroy()
    }
    await new Promise<void>((resolve, reject) => {
      const fail = (reason: string) => {
        clearTimeout(late)
        for (const peer of peers.values()) {
          peer.sendFailure(reason)
          peer.socket.end()
        }
        closeServer()
        reject(unavailable(options, reason))
      }
      const expire = () => {
        const missing = Array.from({ length: size - 1 }, (_, index) => index + 1).filter((rank) => !peers.has(rank))
        const count = `${peers.size} of ${size - 1} other ranks have connected within ${timeoutSeconds} s`
        fail(`${count}; missing: ${missing.slice(0, 8).join(', ')}${missing.length > 8 ? ' and others' : ''}`)
      }
      const late = setTimeout(guarded(expire, reject), timeoutSeconds * 1000)
      const done = () => {
        clearTimeout(late)
        closeServer()
        resolve()
      }
      const admit = async (socket: Socket) => {
        strangers.add(socket)
        socket.once('close', () => strangers.delete(socket))
        const peer = new TcpPeer(socket)
        const hello = helloOf(await withDeadline(peer.next(), HELLO_SECONDS), { job, size })
        if (peers.has(hello.rank)) throw new Error(`rank ${hello.rank} is there already`)
        if (peer.lost !== undefined) return
        peer.trust()
        strangers.delete(socket)
        peers.set(hello.rank, peer)
        hosts[hello.rank] = hello.host
        // A process that ends before all have come may be started again.
        peer.onLost = () => void peers.delete(hello.rank)
        if (peers.size === size - 1) done()
      }
      server.on(
        'error',
        // Later errors say that a connection cannot be accepted, as there are too many: a rank tries again.
        guarded((error: Error) => server.listening || fail(error.message), reject),
      )
      server.on(
        'connection',
        guarded(admit, (_, socket) => socket.destroy()),
      )
      server.listen(port, listenOn)
      if (size === 1) done()
    })
    const inOrder = [...peers].sort(([a], [b]) => a - b).map(([, peer]) => peer)
    for (const peer of inOrder) peer.send('message', bytesOf(hosts))
    return new TcpStar(options, inOrder, hosts)
  }

  static async #connect(options: StarOptions): Promise<TcpStar> {
    const { rank, size, host, port, job, timeoutSeconds } = options
    const end = performance.now() + timeoutSeconds * 1000
    const secondsLeft = () => (end - performance.now()) / 1000
    /** The failure of the first rank. */
    let refusal: string | undefined
    for (let reason = ''; ; ) {
      const socket = new Socket()
      try {
        await withDeadline(connect(socket, host, port), secondsLeft())
        const peer = new TcpPeer(socket)
        peer.trust()
        peer.onFrame = (kind, bytes) => {
          if (kind === 'failure') refusal = textOf(bytes)
        }
        peer.send('message', bytesOf({ job, rank, size, host: ownHost() }))
        const hosts = await withDeadline(peer.next(), secondsLeft() + OPENING_GRACE_SECONDS)
        return new TcpStar(options, [peer], hostsOf(hosts, size))
      } catch (error) {
        socket.destroy()
        reason = (error as Error).message
      }
      const isLate = secondsLeft() * 1000 < RETRY_MILLISECONDS
      if (refusal !== undefined || isLate) throw unavailable(options, refusal ?? reason)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MILLISECONDS))
    }
  }

  /** The messages of all ranks, in their order. Rejects as `orFailed`, and with an Error `TIMEOUT` at the deadline. */
  allGather(message: Uint8Array): Promise<Uint8Array[]> {
    const gathered = this.#last.then(() =>
      withDeadline(this.orFailed(this.#exchange(message)), this.#options.timeoutSeconds),
    )
    this.#last = gathered.catch(() => {})
    return gathered
  }

  /** The result, or, if a rank is lost or fails before it, an Error that names that rank. */
  orFailed<Result>(result: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      // A race with a promise of the failure would keep every result: that promise is pending for the whole job.
      this.#rejects.add(reject)
      const settled = () => this.#rejects.delete(reject)
      result.then(resolve, reject).finally(settled)
      if (this.#failure !== undefined) reject(new Error(this.#failure))
    })
  }

  /** Ends the calls in progress and all later ones, here and on all ranks that can be reached. The first failure counts. */
  fail(reason: string): void {
    if (this.#isClosed || this.#failure !== undefined) return
    this.#failure = reason
    for (const reject of this.#rejects) reject(new Error(reason))
    for (const peer of this.#peers) {
      if (peer.lost === undefined) peer.sendFailure(reason)
    }
  }

  /**
   * Names the ranks that are not in this call, with their places, for a message. Waits for a few seconds. Rejects as
   * `orFailed`: the deadline of all ranks passes at once, and one that has named the missing ranks ends and answers no more.
   */
  async missingRanks(sequence: number, call: string): Promise<string> {
    const { rank, size } = this.#options
    const roll = await this.orFailed(rank === 0 ? this.#callRoll() : this.#requestRoll())
    if (roll === undefined) return `${this.name(0)} does not answer`
    const places = Array.from({ length: size }, (_, other) => {
      const place = other === rank ? undefined : whereElse(roll[other] ?? undefined, sequence, call)
      return place === undefined ? [] : [`${this.name(other)} ${place}`]
    }).flat()
    return places.length > 8 ? `${places.slice(0, 8).join(', ')}, and others` : places.join(', ')
  }

  /** "rank 1 of 4 on node7". */
  name(rank: number): string {
    const host = this.#hosts[rank]
    return `rank ${rank} of ${this.#options.size}${host ? ` on ${host}` : ''}`
  }

  /** Ends the connections, after a last exchange. */
  close(): void {
    this.#isClosed = true
    for (const { socket } of this.#peers) socket.end()
  }

  async #exchange(message: Uint8Array): Promise<Uint8Array[]> {
    const [first] = this.#peers
    if (this.#options.rank > 0 && first !== undefined) {
      first.send('message', message)
      const parts: Uint8Array[] = []
      while (parts.length < this.#options.size) parts.push(await first.next())
      return parts
    }
    const parts = [message, ...(await Promise.all(this.#peers.map((peer) => peer.next())))]
    for (const peer of this.#peers) {
      // One packet of all parts, if they are short.
      peer.socket.cork()
      for (const part of parts) peer.send('message', part)
      peer.socket.uncork()
    }
    return parts.map((part) => part.slice())
  }

  #take(peer: TcpPeer, rank: number, kind: FrameKind, bytes: Uint8Array): void {
    if (kind === 'failure') {
      this.fail(textOf(bytes))
    } else if (kind === 'rollCall') {
      if (rank === 0) peer.send('progress', bytesOf(this.#options.progress()))
      else void this.#callRoll().then((roll) => peer.send('roll', bytesOf(roll)))
    } else if (kind === 'progress') {
      this.#answers.set(rank, progressOf(jsonOf(bytes)))
      if (this.#answers.size === this.#peers.length) this.#answered()
    } else if (kind === 'roll') {
      this.#takeRoll(rollOf(bytes, this.#options.size))
    }
  }

  /** On the first rank. */
  #callRoll(): Promise<Roll> {
    this.#roll ??= this.#gatherRoll().finally(() => {
      this.#roll = undefined
    })
    return this.#roll
  }

  async #gatherRoll(): Promise<Roll> {
    const { size, progress } = this.#options
    this.#answers.clear()
    const all = new Promise<void>((resolve) => {
      this.#answered = resolve
    })
    for (const peer of this.#peers) peer.send('rollCall', new Uint8Array(0))
    await withDeadline(all, ROLL_CALL_SECONDS).catch(() => {})
    return Array.from({ length: size }, (_, rank) => (rank === 0 ? progress() : (this.#answers.get(rank) ?? null)))
  }

  #takeRoll: (roll: Roll) => void = () => {}

  /** On the other ranks; undefined if the first does not answer. */
  async #requestRoll(): Promise<Roll | undefined> {
    const roll = new Promise<Roll>((resolve) => {
      this.#takeRoll = resolve
    })
    this.#peers[0]?.send('rollCall', new Uint8Array(0))
    return await withDeadline(roll, ROLL_SECONDS).catch(() => undefined)
  }
}

/** The first message of a peer that belongs to this job; throws for a stranger's. */
function helloOf(bytes: Uint8Array, { job, size }: Pick<StarOptions, 'job' | 'size'>): Hello {
  const given = jsonOf(bytes) as { job?: unknown; rank?: unknown; size?: unknown; host?: unknown }
  const { rank } = given
  const isRank = Number.isInteger(rank) && (rank as number) > 0 && (rank as number) < size
  if (given.job !== job || given.size !== size || !isRank) throw new Error('it is of another job')
  return { rank: rank as number, host: hostOf(given.host) }
}

/** The hosts of all ranks, as the first one sends them. */
function hostsOf(bytes: Uint8Array, size: number): string[] {
  const hosts = jsonOf(bytes)
  if (!Array.isArray(hosts) || hosts.length !== size) throw new Error(UNREADABLE)
  return hosts.map(hostOf)
}

function hostOf(host: unknown): string {
  if (typeof host !== 'string') throw new Error(UNREADABLE)
  return visibleText(host.slice(0, LONGEST_HOST))
}

function rollOf(bytes: Uint8Array, size: number): Roll {
  const roll = jsonOf(bytes)
  if (!Array.isArray(roll) || roll.length !== size) throw new Error(UNREADABLE)
  return roll.map((progress: unknown) => (progress === null ? null : progressOf(progress)))
}

/** A text of the network, as a terminal may print it. */
function textOf(bytes: Uint8Array): string {
  return visibleMessage(new TextDecoder().decode(bytes))
}

function ownHost(): string {
  return hostname().slice(0, LONGEST_HOST)
}

function bytesOf(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value))
}

/** An object or an array. */
function jsonOf(bytes: Uint8Array): object {
  const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
  if (typeof value !== 'object' || value === null) throw new Error(UNREADABLE)
  return value
}

function connect(socket: Socket, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.connect(port, host, () => {
      socket.off('error', reject)
      resolve()
    })
  })
}

/** Rejects with an Error whose `statusName` is `TIMEOUT`, like NCCL's calls. */
async function withDeadline<Result>(result: Promise<Result>, seconds: number): Promise<Result> {
  let late: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    const error = Object.assign(new Error(`no message within ${Number(seconds.toFixed(1))} s`), {
      statusName: 'TIMEOUT',
    })
    late = setTimeout(() => reject(error), seconds * 1000)
  })
  try {
    return await Promise.race([result, deadline])
  } finally {
    clearTimeout(late)
  }
}

function unavailable({ rank, size, host, port }: StarOptions, reason: string): CommunicatorError {
  return new CommunicatorError(
    'ERR_COMMUNICATOR_UNAVAILABLE',
    `Cannot open communicator as rank ${rank} of ${size} must reach the other ranks at ${host}:${port}: ${reason}. Name another port in CUDNN_RNN_RENDEZVOUS_PORT where it is in use`,
  )
}
