import type { WasmExports } from './wasm_exports.js'
import { startThreads, type WasmThreads } from './wasm_threads.js'

/** Pages of 64 KiB: those that a module needs at first (native/wasm/compiler.mjs), and the 4 GiB that addresses reach. */
const INITIAL_PAGES = 16
const MOST_PAGES = 65536
/** The address space that a shared memory reserves if 4 GiB are refused. */
const FEWER_PAGES = 16384
/** Before a memory is requested again: a disposed executor keeps its address space until its workers have ended. */
const PAUSE_MS = 300

/** The module with its memory, on one or several threads. */
export interface WasmInstance {
  readonly exports: WasmExports
  /** The caller's thread, and the workers'. */
  readonly threads: number
  /** Why there are fewer threads than requested; empty otherwise. */
  readonly shortage: string
  /** Ends the workers. */
  stop(): void
}

/** An instance that computes on the calling thread alone. */
export function instantiate(module: WebAssembly.Module): WasmInstance {
  return { exports: exportsOver(module, memoryOf({ shared: false })), threads: 1, shortage: '', stop: () => undefined }
}

/** An instance of a module with a shared memory on `threads` threads; on one, with the reason, if workers do not start. */
export async function instantiateWithThreads(module: WebAssembly.Module, threads: number): Promise<WasmInstance> {
  const memory = await sharedMemory()
  const exports = exportsOver(module, memory)
  let workers: WasmThreads
  try {
    workers = await startThreads(module, memory, exports, threads - 1)
  } catch (error) {
    const shortage = `workers do not start: ${(error as Error).message}`
    return { exports, threads: 1, shortage, stop: () => undefined }
  }
  return { exports, threads, shortage: '', stop: () => workers.stop() }
}

async function sharedMemory(tries = 4): Promise<WebAssembly.Memory> {
  try {
    return memoryOf({ shared: true })
  } catch (error) {
    if (tries === 1) throw error
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    return sharedMemory(tries - 1)
  }
}

function memoryOf({ shared }: { readonly shared: boolean }): WebAssembly.Memory {
  const initial = INITIAL_PAGES
  try {
    return new WebAssembly.Memory({ initial, maximum: MOST_PAGES, shared })
  } catch {
    return new WebAssembly.Memory({ initial, maximum: FEWER_PAGES, shared })
  }
}

function exportsOver(module: WebAssembly.Module, memory: WebAssembly.Memory): WasmExports {
  const { exports } = new WebAssembly.Instance(module, { env: { memory, now: () => performance.now() } })
  const named = exports as unknown as WasmExports
  named._initialize()
  return named
}

/** Whether this thread may sleep until another one wakes it: the main thread of a page may not, and polls. */
export function maySleep({ buffer }: WebAssembly.Memory): boolean {
  try {
    // The value is not the one expected, so that the wait ends at once if it is allowed.
    const [value] = new Int32Array(buffer, 0, 1)
    Atomics.wait(new Int32Array(buffer), 0, ~(value as number), 0)
    return true
  } catch {
    return false
  }
}
