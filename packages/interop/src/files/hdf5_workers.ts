import { Worker } from 'node:worker_threads'
import { WeightFileError } from '../errors.js'

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
export async function freeWorker(path: string): Promise<Worker | undefined> {
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
export function returnWorker(worker: Worker, isSound: boolean): void {
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
