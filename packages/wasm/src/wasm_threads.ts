import type { WasmExports } from './wasm_exports.js'

/** The stack of a thread; as large as the caller's (native/wasm/compiler.mjs). */
const STACK_BYTES = 2 ** 18
/** A worker starts within a tenth of a second; one that a policy of the page stops may report nothing. */
const LONGEST_START_MS = 20_000

/** Workers that compute for one executor. */
export interface WasmThreads {
  stop(): void
}

/** The message to a thread: the compiled module, the memory that all share, its number from 0 on, and the top of its stack. */
interface ThreadStart {
  readonly module: WebAssembly.Module
  readonly memory: WebAssembly.Memory
  readonly index: number
  readonly stack: number
}

/** The members that Web workers and Node.js's have in common, under one name. */
interface ThreadWorker {
  /** Calls back with the first message, and with every failure. */
  listen(onMessage: () => void, onFailure: (error: Error) => void): void
  send(start: ThreadStart): void
  /** A waiting worker keeps no process alive. */
  release(): void
  terminate(): void
}

/**
 * The program of a worker over its `port`. It is a text, so that no bundler needs to find a file, and a page with several
 * executors fetches nothing.
 */
const programOver = (port: string) => `
const port = ${port}
port.onmessage = async ({ data: { module, memory, index, stack } }) => {
  const { exports } = await WebAssembly.instantiate(module, { env: { memory, now: () => performance.now() } })
  exports.__stack_pointer.value = stack
  port.postMessage('ready')
  try {
    exports.runThread(index)
  } catch (error) {
    exports.markThreadFailed()
    throw error
  }
}`

/** Starts `count` workers, which wait for the pool that `exports.open` makes. Rejects if one of them does not start. */
export async function startThreads(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
  exports: WasmExports,
  count: number,
): Promise<WasmThreads> {
  const workers: ThreadWorker[] = []
  const stop = () => {
    for (const worker of workers.splice(0)) worker.terminate()
  }
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    const ready = Array.from({ length: count }, (_, index) => {
      const worker = openWorker()
      workers.push(worker)
      return new Promise<void>((resolve, reject) => {
        worker.listen(resolve, reject)
        const stack = exports.allocate(STACK_BYTES) >>> 0
        if (stack === 0) throw new RangeError('out of memory')
        worker.send({ module, memory, index, stack: stack + STACK_BYTES })
      })
    })
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(reject, LONGEST_START_MS, new Error(`none is ready after ${LONGEST_START_MS / 1000} s`))
    })
    await Promise.race([Promise.all(ready), late])
  } catch (error) {
    stop()
    throw error
  } finally {
    clearTimeout(timer)
  }
  for (const worker of workers) worker.release()
  return { stop }
}

interface NodeWorkers {
  readonly Worker: new (
    program: string,
    options: { readonly eval: true; readonly execArgv: readonly string[]; readonly name: string },
  ) => {
    on(event: 'error', listener: (error: Error) => void): unknown
    once(event: 'message' | 'exit', listener: () => void): unknown
    postMessage(message: unknown): void
    unref(): void
    terminate(): Promise<number>
  }
}

interface NodeOs {
  availableParallelism?(): number
}

interface Platform {
  readonly crossOriginIsolated?: boolean
  readonly process?: { getBuiltinModule?(name: string): unknown }
  readonly navigator?: { readonly hardwareConcurrency?: number }
}

const platform = globalThis as Platform

/** Worker threads of Node.js, Deno and Bun. */
function nodeWorkers(): NodeWorkers | undefined {
  const found = platform.process?.getBuiltinModule?.('node:worker_threads') as NodeWorkers | undefined
  return typeof found?.Worker === 'function' ? found : undefined
}

/** Why there can be no threads here; empty if there can. */
export function threadsRefused(): string {
  // Only browsers have this property.
  if (platform.crossOriginIsolated === true) return ''
  if (platform.crossOriginIsolated === false) return 'the page is not cross-origin isolated'
  return nodeWorkers() === undefined ? 'this platform has no worker threads' : ''
}

/** Threads if no number is requested: half of the logical processors, which are two for a core of most machines, at most 4. */
export function defaultThreads(): number {
  const os = platform.process?.getBuiltinModule?.('node:os') as NodeOs | undefined
  const processors = os?.availableParallelism?.() ?? platform.navigator?.hardwareConcurrency ?? 1
  return Math.max(1, Math.min(4, Math.ceil(processors / 2)))
}

function openWorker(): ThreadWorker {
  return platform.crossOriginIsolated === true ? openWebWorker() : openNodeWorker(nodeWorkers() as NodeWorkers)
}

function openNodeWorker({ Worker }: NodeWorkers): ThreadWorker {
  // No options of the process: a loader of TypeScript, say, would be loaded again.
  const program = programOver("require('node:worker_threads').parentPort")
  const worker = new Worker(program, { eval: true, execArgv: [], name: 'cudnn-rnn wasm' })
  return {
    listen: (onMessage, onFailure) => {
      worker.once('message', onMessage)
      worker.on('error', onFailure)
      worker.once('exit', () => onFailure(new Error('the worker has ended')))
    },
    send: (start) => worker.postMessage(start),
    release: () => worker.unref(),
    terminate: () => void worker.terminate(),
  }
}

function openWebWorker(): ThreadWorker {
  const url = URL.createObjectURL(new Blob([programOver('self')], { type: 'text/javascript' }))
  const worker = new Worker(url, { name: 'cudnn-rnn wasm' })
  return {
    listen: (onMessage, onFailure) => {
      worker.onmessage = () => {
        URL.revokeObjectURL(url)
        onMessage()
      }
      worker.onerror = (event) => {
        URL.revokeObjectURL(url)
        event.preventDefault()
        onFailure(new Error(event.message || 'the page may not start a worker from a blob: URL (worker-src)'))
      }
    },
    send: (start) => worker.postMessage(start),
    release: () => undefined,
    terminate: () => worker.terminate(),
  }
}
