import { Worker } from 'node:worker_threads'
import type { Limits } from '../checked_communicator.js'
import type { Rendezvous } from './tcp_star.js'

/** `port` is 0 on the first rank, which takes a free one. */
export interface HeartbeatOptions extends Rendezvous, Limits {
  /** Collective calls of this rank. */
  readonly calls: () => number
  /** Called twice a second for each rank that has been silent, or busy, for longer than allowed. */
  readonly onTrouble: (trouble: Trouble) => void
}

export interface Trouble {
  readonly rank: number
  /**
   * `silent`: its process was stopped or its host is dead. `busy`: its JavaScript does not return to the event loop. `garbled`:
   * it has sent a malformed heartbeat.
   */
  readonly state: 'silent' | 'busy' | 'garbled'
  readonly seconds: number
}

const BEAT_MILLISECONDS = 500
const TURN_MILLISECONDS = 100
/** Calls of a training before its first updates, in which it reads data and restores a checkpoint. */
const FIRST_CALLS = 32
const FIRST_BUSY_SECONDS = 60
/** How much longer than ever before a rank may compute. */
const BUSY_GROWTH = 2
/** A longer turn counts as this many: the process was stopped. */
const LONGEST_TURN_MILLISECONDS = 200

/**
 * The thread that sends heartbeats. Each rank has a connection to the first, over which both send a line twice a second:
 * for how many seconds the JavaScript of the process has not returned to its event loop, or 0 within its limit (Note [Busy
 * ranks] of native/mpi/src/watchdog.h). The first rank sends the troubles
 * that it sees to all. Time is the sum of the own thread's turns, with at most 0.2 s for each, so that a job that was
 * stopped as a whole continues. The program is a text, so that no bundler needs to find a file.
 */
const PROGRAM = `
const { createServer, connect } = require('node:net')
const { parentPort, workerData } = require('node:worker_threads')
const { rank, size, host, port, listenOn, job, silenceSeconds, busySeconds, learnsBusy, beats, turnMilliseconds, longestTurn } = workerData
const { firstCalls, firstBusySeconds, busyGrowth } = workerData
const longestLine = 4096
const helloMilliseconds = 5000
const beat = new Int32Array(beats)
let seen = 0
let busy = 0
let longestBusy = 0
const others = new Map()

// A line that cannot be read ends the connection: an exception here would end the process.
function follow(socket, onLine, onGarbage) {
  socket.setNoDelay(true)
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('data', (piece) => {
    try {
      const lines = (rest + piece).split('\\n')
      rest = lines.pop()
      if (rest.length > longestLine) throw new Error()
      for (const line of lines) onLine(line)
    } catch {
      socket.destroy()
      onGarbage()
    }
  })
  // Its loss is seen by the other connection of that rank.
  socket.on('error', () => {})
}

function add(number, socket) {
  const other = { socket, silent: 0, busy: 0 }
  others.set(number, other)
  socket.on('close', () => others.delete(number))
  return other
}

function report(trouble) {
  parentPort.postMessage(trouble)
  if (rank > 0) return
  for (const [number, { socket }] of others) if (number !== trouble.rank) socket.write('!' + JSON.stringify(trouble) + '\\n')
}

function garbled(number) {
  parentPort.postMessage({ rank: number, state: 'garbled', seconds: 0 })
}

function take(other, line) {
  other.silent = 0
  if (line.startsWith('!')) {
    const { rank, state, seconds } = JSON.parse(line.slice(1))
    if (!isOther(rank) || !['silent', 'busy'].includes(state) || !Number.isFinite(seconds)) throw new Error()
    parentPort.postMessage({ rank, state, seconds })
  } else {
    if (!(Number(line) >= 0)) throw new Error()
    other.busy = Number(line)
  }
}

function isOther(number) {
  return Number.isInteger(number) && number >= 0 && number < size
}

if (rank === 0) {
  const server = createServer((socket) => {
    let number
    const hello = setTimeout(() => socket.destroy(), helloMilliseconds)
    socket.on('close', () => clearTimeout(hello))
    const onLine = (line) => {
      if (number !== undefined) return take(others.get(number), line)
      const [text, ...given] = line.split(' ')
      const named = Number(text)
      if (given.join(' ') !== job || named === 0 || !isOther(named) || others.has(named)) throw new Error()
      number = named
      clearTimeout(hello)
      add(number, socket)
      socket.write('0\\n')
    }
    follow(socket, onLine, () => number !== undefined && garbled(number))
  })
  // A connection cannot be accepted, as there are too many.
  server.on('error', (error) => {
    if (!server.listening) throw error
  })
  server.listen(port, listenOn, () => parentPort.postMessage({ port: server.address().port }))
} else {
  // A rank that stops before the first one follows it would be missed: the communicator opens after the first line.
  let other
  const socket = connect(port, host, () => socket.write(rank + ' ' + job + '\\n'))
  socket.on('error', (error) => {
    if (other === undefined) throw error
  })
  socket.on('close', () => {
    if (other === undefined) throw new Error('the first rank has closed the connection')
  })
  const onLine = (line) => {
    if (other === undefined) {
      other = add(0, socket)
      parentPort.postMessage({ port })
    }
    take(other, line)
  }
  follow(socket, onLine, () => garbled(0))
}

let last = performance.now()
let sent = 0
setInterval(() => {
  const time = performance.now()
  const seconds = Math.min(time - last, longestTurn) / 1000
  last = time
  const now = Atomics.load(beat, 0)
  if (now !== seen) longestBusy = Math.max(longestBusy, busy)
  busy = now === seen ? busy + seconds : 0
  seen = now
  for (const other of others.values()) other.silent += seconds
  sent += seconds
  if (sent < 0.5) return
  sent = 0
  const least = learnsBusy && Atomics.load(beat, 1) < firstCalls ? firstBusySeconds : busySeconds
  const limit = learnsBusy ? Math.max(least, busyGrowth * longestBusy) : least
  for (const { socket } of others.values()) socket.write((busy > limit ? busy : 0) + '\\n')
  for (const [number, { silent, busy }] of others) {
    if (silent > silenceSeconds) report({ rank: number, state: 'silent', seconds: silent })
    else if (busy > busySeconds) report({ rank: number, state: 'busy', seconds: busy })
  }
}, turnMilliseconds)
`

/** Heartbeats between ranks that no MPI connects. */
export class Heartbeats {
  readonly #worker: Worker
  readonly #beat: NodeJS.Timeout
  /** The port of the first rank, when this rank is connected to it. Rejects if the thread or the connection fails, or takes too long. */
  readonly port: Promise<number>

  constructor({ calls, onTrouble, ...options }: HeartbeatOptions) {
    /** Time stamps of the event loop, and calls. */
    const beats = new Int32Array(new SharedArrayBuffer(8))
    this.#worker = new Worker(PROGRAM, {
      eval: true,
      // No options of the process: a loader of TypeScript, say, would be loaded again.
      execArgv: [],
      name: 'cudnn-rnn heartbeats',
      workerData: {
        ...options,
        beats: beats.buffer,
        ...{ firstCalls: FIRST_CALLS, firstBusySeconds: FIRST_BUSY_SECONDS, busyGrowth: BUSY_GROWTH },
        // Two lines may be missed.
        silenceSeconds: Math.max(1, options.silenceSeconds),
        turnMilliseconds: TURN_MILLISECONDS,
        longestTurn: LONGEST_TURN_MILLISECONDS,
      },
    })
    this.port = new Promise((resolve, reject) => {
      const { timeoutSeconds } = options
      // A first rank that has been stopped is connected by its kernel, and answers nothing.
      const expire = () => reject(new Error(`the first rank has not answered within ${timeoutSeconds} s`))
      const late = setTimeout(expire, timeoutSeconds * 1000)
      this.#worker.once('error', reject)
      this.#worker.once('exit', () => clearTimeout(late))
      this.#worker.on('message', (message: { port: number } | Trouble) => {
        if ('port' in message) {
          // An error from here on is uncaught: without the thread a silent rank would not be noticed.
          this.#worker.off('error', reject)
          // Until here the process must wait for it.
          this.#worker.unref()
          clearTimeout(late)
          resolve(message.port)
        } else {
          onTrouble(message)
        }
      })
    })
    this.#beat = setInterval(() => {
      Atomics.add(beats, 0, 1)
      Atomics.store(beats, 1, calls())
    }, BEAT_MILLISECONDS).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#beat)
    await this.#worker.terminate()
  }
}
