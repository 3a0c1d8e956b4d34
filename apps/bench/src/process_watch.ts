import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const SCRIPT = fileURLToPath(new URL('../processes/end_with_benchmark.mjs', import.meta.url))

/** A process that ends the children of this one when this one has ended, also by SIGKILL. */
export class ProcessWatch {
  readonly #watcher = spawn(process.execPath, [SCRIPT], { stdio: ['pipe', 'ignore', 'inherit'] })

  constructor() {
    // Without the watcher a benchmark still runs; its children then end when they next read their stdin.
    this.#watcher.on('error', () => {})
    this.#watcher.stdin.on('error', () => {})
    this.#watcher.unref()
  }

  /** Watches a child until it exits. */
  add(child: ChildProcess): void {
    const { pid } = child
    if (pid === undefined) return
    this.#watcher.stdin.write(`+${pid}\n`)
    child.once('exit', () => {
      if (this.#watcher.stdin.writable) this.#watcher.stdin.write(`-${pid}\n`)
    })
  }

  /** Ends every child that is still watched, and the watcher. */
  stop(): void {
    this.#watcher.stdin.end()
  }
}
