import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** An answer of torch_baseline.py. */
export interface TorchAnswer {
  readonly error?: string
  readonly [field: string]: unknown
}

/** PyTorch in a process of its own, asked one question after another. */
export class TorchBaseline {
  readonly #process: ChildProcessWithoutNullStreams
  readonly #lines: Interface
  #problem: string | undefined
  #errors = ''
  #waiting: ((answer: TorchAnswer) => void) | undefined

  constructor(python: string) {
    this.#process = spawn(python, [fileURLToPath(new URL('./torch_baseline.py', import.meta.url))])
    this.#process.stderr.on('data', (text) => {
      this.#errors = (this.#errors + String(text)).slice(-2000)
    })
    this.#process.on('error', (error) => this.#end(String(error)))
    this.#process.on('exit', (status, signal) => this.#end(`Python ended (${signal ?? status}): ${this.#errors}`))
    this.#process.stdin.on('error', () => {})
    this.#lines = createInterface(this.#process.stdout)
    this.#lines.on('line', (line) => this.#answer(JSON.parse(line) as TorchAnswer))
  }

  /** Undefined without a Python; asks whether it has PyTorch and a GPU. */
  static async start(
    python: string | undefined,
  ): Promise<{ baseline?: TorchBaseline; hello?: TorchAnswer; problem?: string }> {
    if (python === undefined) return { problem: 'no Python was named: --python PYTHON' }
    const baseline = new TorchBaseline(python)
    const hello = await baseline.ask({ action: 'hello' }, 120)
    if (hello.error === undefined) return { baseline, hello }
    baseline.close()
    return { problem: hello.error }
  }

  /** The answer to `request`; one with `error` where there is none in `seconds`. Ask within the section's deadline. */
  ask(request: object, seconds = 60): Promise<TorchAnswer> {
    if (this.#problem !== undefined) return Promise.resolve({ error: this.#problem })
    return new Promise((resolve) => {
      const limit = setTimeout(() => {
        this.#process.kill('SIGKILL')
        this.#end(`no answer in ${seconds} seconds`)
      }, seconds * 1000)
      this.#waiting = (answer) => {
        clearTimeout(limit)
        resolve(answer)
      }
      this.#process.stdin.write(`${JSON.stringify(request)}\n`)
    })
  }

  close(): void {
    this.#process.stdin.end()
    this.#process.kill()
  }

  #answer(answer: TorchAnswer): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.(answer)
  }

  #end(problem: string): void {
    this.#problem ??= problem
    this.#answer({ error: this.#problem })
  }
}
