import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { codedError } from '@cudnn-rnn/canonical/rules'
import type { InstructionSet } from '@cudnn-rnn/rnn/executors'
import type { Precision } from './comparison.js'
import type { Greeting, Reply, RequestName, Requests } from './implementation_protocol.js'
import type { Implementation } from './implementation_table.js'
import { bindingEnvironment } from './instruction_set_binding.js'
import type { ProcessWatch } from './process_watch.js'

export interface Launch {
  readonly command: string
  readonly args: readonly string[]
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>
}

/** What every implementation of a benchmark is held to. */
export interface LaunchConditions {
  /** Interpreter of the implementations written in Python. */
  readonly python: string | undefined
  /** Undefined: the best that each finds. */
  readonly instructionSet: InstructionSet | undefined
}

/** The command of an implementation. */
export function implementationLaunch(
  implementation: Implementation,
  threads: number,
  precision: Precision,
  { python, instructionSet }: LaunchConditions,
): Launch {
  const { name, kind, language } = implementation
  const args = [name, String(threads), precision]
  if (kind === 'executor' && instructionSet !== undefined) args.push(instructionSet)
  const env = bindingEnvironment(implementation, instructionSet)
  if (language === 'node') {
    return {
      command: process.execPath,
      args: [fileURLToPath(new URL('./implementation_main.js', import.meta.url)), ...args],
      env,
    }
  }
  return {
    command: python ?? 'python3',
    args: ['-u', fileURLToPath(new URL('../python/implementation.py', import.meta.url)), ...args],
    env,
  }
}

/** Lines of stderr kept to explain why a process ended. */
const KEPT_LINES = 20

/** An implementation in a separate process: it shares no threads, memory or garbage collector with others. */
export class ImplementationProcess {
  readonly version: string
  readonly detail: string
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #lines: AsyncIterator<string>
  readonly #ending: () => string

  private constructor(
    child: ChildProcessByStdio<Writable, Readable, Readable>,
    lines: AsyncIterator<string>,
    ending: () => string,
    greeting: Greeting & { ready: true },
  ) {
    this.#child = child
    this.#lines = lines
    this.#ending = ending
    this.version = greeting.version
    this.detail = greeting.detail
  }

  /**
   * Starts a process, which ends with this one if `watch` is given, and waits for its greeting; a string states why the
   * implementation cannot run here.
   */
  static async start({ command, args, env }: Launch, watch?: ProcessWatch): Promise<ImplementationProcess | string> {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...env } })
    watch?.add(child)
    const tail: string[] = []
    let failure = ''
    child.on('error', (error) => {
      failure = error.message
    })
    // Writing to a process that ended is reported as a missing answer.
    child.stdin.on('error', () => {})
    createInterface({ input: child.stderr }).on('line', (line) => {
      tail.push(line)
      if (tail.length > KEPT_LINES) tail.shift()
    })
    const ending = () => failure || tail.join('\n') || 'its process ended'
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const greeting = await nextObject<Greeting>(lines)
    if (greeting?.ready === true) return new ImplementationProcess(child, lines, ending, greeting)
    child.kill()
    return greeting?.reason ?? ending()
  }

  /** Sends a request and waits for the answer. Throws Error `ERR_IMPLEMENTATION` with what went wrong in the process. */
  async request<Name extends RequestName>(
    request: Name,
    ask: Requests[Name]['ask'],
  ): Promise<Requests[Name]['answer']> {
    this.#child.stdin.write(`${JSON.stringify({ request, ask })}\n`)
    const reply = await nextObject<Reply<Name>>(this.#lines)
    if (reply?.ok === true) return reply.answer
    throw codedError('ERR_IMPLEMENTATION', reply?.message ?? this.#ending(), { request })
  }

  stop(): void {
    this.#child.kill()
  }
}

/** The next line that is a JSON object; undefined at the end. */
async function nextObject<Kind>(lines: AsyncIterator<string>): Promise<Kind | undefined> {
  for (;;) {
    const { done, value } = await lines.next()
    if (done) return undefined
    if (!value.startsWith('{')) continue
    try {
      return JSON.parse(value) as Kind
    } catch {
      // A library's chatter that begins with a brace.
    }
  }
}
