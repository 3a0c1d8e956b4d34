import { Worker } from 'node:worker_threads'
import { type ErrorCode, missingPackage, required } from '@cudnn-rnn/canonical/rules'
import { corrupt, WeightFileError } from '../errors.js'
import type { Hdf5Answer, Hdf5Call, Hdf5Calls, Hdf5Request, SentError } from './hdf5_messages.js'
import type { Hdf5Input } from './hdf5_mount.js'

/** Seconds that one request may take, and bytes of the file for which it may take one more. */
const LONGEST_REQUEST = 30
const BYTES_PER_SECOND = 2 ** 24

/**
 * The HDF5 library in a separate thread, for one file. The library was not written for hostile files: some keep it busy
 * without end, some leave it broken. The thread is ended then, and the next file gets another one.
 */
export class Hdf5Thread {
  readonly #path: string
  readonly #worker: Worker
  readonly #secondsPerRequest: number
  readonly #waiting: { resolve(value: unknown): void; reject(error: unknown): void }[] = []
  readonly #onMessage = (answer: Hdf5Answer) => this.#receive(answer)
  readonly #onEnd = (cause: unknown) => this.#end(corrupt(this.#path, 'the HDF5 library fails on it', cause))
  #watch: NodeJS.Timeout | undefined
  #seconds = 0
  #isSound = true
  #ended: WeightFileError | undefined

  private constructor(path: string, worker: Worker, secondsPerRequest: number) {
    this.#path = path
    this.#worker = worker
    this.#secondsPerRequest = secondsPerRequest
    worker.on('message', this.#onMessage).on('error', this.#onEnd).on('exit', this.#onEnd)
  }

  /**
   * Opens a file in a thread; undefined if there are no threads, or the program was bundled without the thread's file.
   *
   * @param secondsPerRequest for tests.
   * @throws as `Hdf5Session.open`
   */
  static async open(
    input: Hdf5Input,
    size: number,
    secondsPerRequest = LONGEST_REQUEST,
  ): Promise<Hdf5Thread | undefined> {
    const worker = await freeWorker(input.path)
    if (worker === undefined) return undefined
    const thread = new Hdf5Thread(input.path, worker, secondsPerRequest + size / BYTES_PER_SECOND)
    try {
      await thread.#request({ open: input })
      return thread
    } catch (error) {
      thread.#release(false)
      throw error
    }
  }

  call<Call extends Hdf5Call>(
    call: Call,
    ...parameters: Parameters<Hdf5Calls[Call]>
  ): Promise<ReturnType<Hdf5Calls[Call]>> {
    return this.#request({ call, parameters }) as Promise<ReturnType<Hdf5Calls[Call]>>
  }

  async close(): Promise<void> {
    if (this.#ended !== undefined) return
    await this.call('close').catch(() => undefined)
    this.#release(this.#isSound)
  }

  #request(request: Hdf5Request): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    return new Promise((resolve, reject) => {
      // First, as a request that cannot be sent has no answer.
      this.#worker.postMessage(request)
      this.#waiting.push({ resolve, reject })
      // A program that waits for an answer must not end.
      this.#worker.ref()
      this.#watch ??= setInterval(() => this.#tick(), 1000)
    })
  }

  #receive(answer: Hdf5Answer): void {
    this.#seconds = 0
    this.#isSound &&= answer.isSound
    const { resolve, reject } = required(this.#waiting.shift(), 'the thread answers each request once')
    if (this.#waiting.length === 0) this.#rest()
    if ('error' in answer) reject(errorOf(this.#path, answer.error))
    else resolve(answer.value)
  }

  /** Counts seconds in which this thread ran too: answers may have arrived while it did not. */
  #tick(): void {
    if (++this.#seconds <= this.#secondsPerRequest) return
    this.#end(corrupt(this.#path, `the HDF5 library does not finish within ${Math.ceil(this.#secondsPerRequest)} s`))
  }

  #end(error: WeightFileError): void {
    this.#ended ??= error
    this.#release(false)
    for (const { reject } of this.#waiting.splice(0)) reject(this.#ended)
  }

  #rest(): void {
    clearInterval(this.#watch)
    this.#watch = undefined
    this.#seconds = 0
    this.#worker.unref()
  }

  #release(isSound: boolean): void {
    this.#rest()
    this.#ended ??= corrupt(this.#path, 'it is closed')
    this.#worker.off('message', this.#onMessage).off('error', this.#onEnd).off('exit', this.#onEnd)
    returnWorker(this.#worker, isSound)
  }
}

function errorOf(path: string, { code, message, cause }: SentError): Error {
  if (code === 'ERR_PACKAGE_MISSING') return missingPackage('read HDF5', 'h5wasm', cause)
  if (typeof code !== 'string') return corrupt(path, 'the HDF5 library fails on it', message)
  // The message ends in the path already.
  return Object.assign(new WeightFileError(code as ErrorCode, message, { cause }), { path })
}

/** Milliseconds after which a thread that serves no file is ended: the memory of the library never shrinks. */
const IDLE = 1000

let idle: { readonly worker: Worker; readonly timer: NodeJS.Timeout } | undefined
let canStart = true

/**
 * A thread of the HDF5 library that serves no file; undefined if there are no threads, or a bundler left out the
 * thread's program.
 *
 * @throws WeightFileError `ERR_WEIGHTS_IO` if the system refuses another thread
 */
async function freeWorker(path: string): Promise<Worker | undefined> {
  if (idle !== undefined) {
    const { worker, timer } = idle
    idle = undefined
    clearTimeout(timer)
    return worker
  }
  if (!canStart) return undefined
  try {
    return await startedWorker()
  } catch (cause) {
    canStart = !NO_THREADS.has((cause as NodeJS.ErrnoException).code ?? '')
    if (!canStart) return undefined
    const message = `Cannot read weight file as no thread can be started (${(cause as Error).message})`
    throw new WeightFileError('ERR_WEIGHTS_IO', message, { path, cause })
  }
}

/** Takes a thread back: one that is sound serves the next file. */
function returnWorker(worker: Worker, isSound: boolean): void {
  if (!isSound || idle !== undefined) {
    void worker.terminate()
    return
  }
  const timer = setTimeout(() => {
    idle = undefined
    void worker.terminate()
  }, IDLE)
  idle = { worker, timer: timer.unref() }
}

/** The codes of a platform without threads, and of a program without the thread's file. */
const NO_THREADS: ReadonlySet<string> = new Set([
  'ERR_NODE_REQUIRED',
  'ERR_INVALID_URL',
  'ERR_MODULE_NOT_FOUND',
  'MODULE_NOT_FOUND',
])

/** The thread's program reports when it is loaded. */
function startedWorker(): Promise<Worker> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./hdf5_worker.js', import.meta.url))
    worker.once('error', reject)
    worker.once('message', () => {
      worker.off('error', reject)
      // The file that a thread serves reports the end of the thread.
      worker.on('error', () => undefined)
      worker.once('exit', () => {
        if (idle?.worker === worker) idle = undefined
      })
      worker.unref()
      resolve(worker)
    })
  })
}
