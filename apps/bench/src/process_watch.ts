import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SCRIPT = fileURLToPath(new URL('../processes/end_with_benchmark.mjs', import.meta.url))

/** A process that ends the children of this one, and removes its folder, when this one has ended, also by SIGKILL. */
export class ProcessWatch {
  /** An empty folder for temporary files. */
  readonly folder = mkdtempSync(join(tmpdir(), 'cudnn-rnn-bench-'))
  readonly #watcher = spawn(process.execPath, [SCRIPT, this.folder], { stdio: ['pipe', 'ignore', 'inherit'] })

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

  /** Ends every child that is still watched, and the watcher; removes the folder. */
  stop(): void {
    this.#watcher.stdin.end()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
