import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { thrownMessage } from '@cudnn-rnn/canonical/rules'

/** An answer of torch_baseline.py. */
export interface TorchAnswer {
  readonly error?: string
  readonly [field: string]: unknown
}

const PROGRAM = fileURLToPath(new URL('./torch_baseline.py', import.meta.url))
/** Environment variables with the socket of the PyTorch that the sections of a run share, and the process to end if it hangs. */
const SOCKET = 'CUDNN_RNN_TORCH_SOCKET'
const PROCESS = 'CUDNN_RNN_TORCH_PROCESS'

/** Starts a PyTorch for all sections, as importing it takes seconds; they find it by the environment returned. */
export function shareTorch(python: string, folder: string): { process: ChildProcess; env: Record<string, string> } {
  const path = join(folder, 'torch.sock')
  const process = spawn(python, [PROGRAM, '--listen', path], { stdio: ['pipe', 'ignore', 'ignore'] })
  process.on('error', () => {})
  process.stdin.on('error', () => {})
  return { process, env: { [SOCKET]: path, [PROCESS]: String(process.pid) } }
}

/** One end of a conversation with torch_baseline.py. */
interface Connection {
  readonly requests: Writable
  readonly answers: Readable
  readonly kill: () => void
}

/** The PyTorch of the run; undefined if there is none, or it has ended. */
async function shared(): Promise<Connection | undefined> {
  const { [SOCKET]: path, [PROCESS]: pid } = process.env
  if (path === undefined) return undefined
  const socket = createConnection(path)
  try {
    await once(socket, 'connect')
  } catch {
    return undefined
  }
  return { requests: socket, answers: socket, kill: () => process.kill(Number(pid), 'SIGKILL') }
}

/** PyTorch in another process, which answers one request after another. */
export class TorchBaseline {
  readonly #connection: Connection
  #problem: string | undefined
  #errors = ''
  #waiting: ((answer: TorchAnswer) => void) | undefined

  private constructor(connection: Connection | undefined, python: string) {
    this.#connection = connection ?? this.#started(python)
    const { requests, answers } = this.#connection
    requests.on('error', () => {})
    if (connection !== undefined) requests.on('close', () => this.#end('the PyTorch of the run ended'))
    createInterface(answers).on('line', (line) => this.#answer(JSON.parse(line) as TorchAnswer))
  }

  /** Undefined without a Python; checks that it has PyTorch and a GPU. */
  static async start(
    python: string | undefined,
  ): Promise<
    | { readonly baseline: TorchBaseline; readonly hello: TorchAnswer }
    | { readonly baseline?: undefined; readonly problem: string }
  > {
    if (python === undefined) return { problem: 'no Python was named: --python PYTHON' }
    const connection = await shared()
    let problem = ''
    // If the shared process does not respond, a separate process reports the cause.
    for (const given of connection === undefined ? [undefined] : [connection, undefined]) {
      const baseline = new TorchBaseline(given, python)
      const hello = await baseline.ask({ action: 'hello' }, 120)
      if (hello.error === undefined) return { baseline, hello }
      baseline.close()
      problem = hello.error
    }
    return { problem }
  }

  /** The answer to `request`; one with `error` if there is none in `seconds`. Send it within the section's deadline. */
  ask(request: object, seconds = 60): Promise<TorchAnswer> {
    if (this.#problem !== undefined) return Promise.resolve({ error: this.#problem })
    return new Promise((resolve) => {
      const limit = setTimeout(() => {
        this.#connection.kill()
        this.#end(`no answer in ${seconds} seconds`)
      }, seconds * 1000)
      this.#waiting = (answer) => {
        clearTimeout(limit)
        resolve(answer)
      }
      this.#connection.requests.write(`${JSON.stringify(request)}\n`)
    })
  }

  close(): void {
    this.#connection.requests.end()
    this.#connection.answers.destroy()
  }

  /** A separate PyTorch, which ends with the requests. */
  #started(python: string): Connection {
    const child = spawn(python, [PROGRAM])
    child.stderr.on('data', (text) => {
      this.#errors = (this.#errors + String(text)).slice(-2000)
    })
    child.on('error', (error) => this.#end(thrownMessage(error)))
    child.on('exit', (status, signal) => this.#end(`Python ended (${signal ?? status}): ${this.#errors}`))
    return { requests: child.stdin, answers: child.stdout, kill: () => child.kill('SIGKILL') }
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
