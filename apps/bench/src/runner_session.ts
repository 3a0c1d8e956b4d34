import { thrownMessage } from '@cudnn-rnn/canonical/rules'
import { collectGarbage } from '@cudnn-rnn/conformance/collect_garbage'
import type { Reply, RequestName, Requests } from './implementation_protocol.js'
import type { LoadedTask, Runner } from './runner.js'
import { readTensorFile, writeTensorFile } from './tensor_file.js'

/**
 * A new task runs for this long before its first turn. The first ten runs of a training pass take up to four times as
 * long as the later ones: its memory is touched for the first time, and V8 has not compiled its JavaScript.
 * `WARM_UP_MS` of implementation.py is the same time.
 */
const WARM_UP_MS = 200

type Handlers = {
  readonly [Name in RequestName]: (ask: Requests[Name]['ask']) => Promise<Requests[Name]['answer']>
}

/** Answers requests for one runner, one after the other. */
export class RunnerSession {
  readonly #runner: Runner
  readonly #handlers: Handlers
  #loaded: LoadedTask | undefined

  constructor(runner: Runner) {
    this.#runner = runner
    this.#handlers = {
      prepare: async ({ task }) => {
        this.#release()
        const operands = readTensorFile(task.operands)
        this.#loaded = await this.#runner.load({
          workload: task.workload,
          pass: task.pass,
          parameters: readTensorFile(task.parameters),
          input: operands['input'].data,
          outputGradient: operands['outputGradient'].data,
        })
        // The arrays of the files, which the runner has converted: Python frees them by counting references.
        await collectGarbage()
        const firstMs = await timed(() => this.#current().run())
        for (let spent = firstMs; spent < WARM_UP_MS; ) spent += await timed(() => this.#current().run())
        return { firstMs }
      },
      run: async ({ sliceMs, warmUp }) => {
        const loaded = this.#current()
        if (loaded.measure !== undefined) return { times: await loaded.measure(sliceMs, warmUp) }
        if (warmUp) await loaded.run()
        const times: number[] = []
        for (let spent = 0; times.length === 0 || spent < sliceMs; ) {
          const ms = await timed(() => loaded.run())
          times.push(ms)
          spent += ms
        }
        return { times }
      },
      results: async ({ path }) => ({ file: writeTensorFile(path, await this.#current().results()) }),
      release: async () => {
        this.#release()
        return {}
      },
    }
  }

  /** The reply to one line of stdin. Never throws: a failure is a reply too. */
  async reply(line: string): Promise<Reply<RequestName>> {
    try {
      const { request, ask } = JSON.parse(line) as { request: RequestName; ask: never }
      return { ok: true, answer: await this.#handlers[request](ask) }
    } catch (error) {
      return { ok: false, message: thrownMessage(error) }
    }
  }

  #current(): LoadedTask {
    if (this.#loaded === undefined) throw new Error('Cannot run as a task must be prepared first: there is none')
    return this.#loaded
  }

  #release(): void {
    this.#loaded?.release()
    this.#loaded = undefined
  }
}

async function timed(run: () => Promise<void> | void): Promise<number> {
  const began = performance.now()
  await run()
  return performance.now() - began
}
