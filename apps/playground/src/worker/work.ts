import { thrownMessage } from '@cudnn-rnn/canonical/rules'
/** A message of a worker whose task ended with an error. */
export interface Failure {
  readonly kind: 'failure'
  readonly message: string
}

/** A message of a worker whose task ended, finished or stopped. */
export interface End {
  readonly kind: 'end'
}

/** Ends the task in progress; a worker understands it beside its own requests. */
export interface Stop {
  readonly kind: 'stop'
}

/** How a task reports, and sees that it must stop. */
export interface Task<Message> {
  readonly signal: AbortSignal
  readonly post: (message: Message) => void
  /** Lets the worker receive messages, a stop among them: a computation of WebAssembly holds the thread. */
  readonly breathe: () => Promise<void>
}

/** The used members of a worker's global scope. */
interface WorkerScope {
  postMessage(message: unknown): void
  addEventListener(type: 'message', listener: (event: MessageEvent) => void): void
}

/** Serves the requests of a page one after the other; a stop ends the one in progress. */
export function serve<Request extends { readonly kind: string }, Message>(
  perform: (request: Request, task: Task<Message>) => Promise<void>,
): void {
  const scope = globalThis as unknown as WorkerScope
  let controller = new AbortController()
  let last: Promise<void> = Promise.resolve()
  scope.addEventListener('message', ({ data }: MessageEvent<Request | Stop>) => {
    if (data.kind === 'stop') {
      controller.abort()
      return
    }
    last = last.then(async () => {
      controller = new AbortController()
      const { signal } = controller
      const task: Task<Message> = { signal, post: (message) => scope.postMessage(message), breathe }
      try {
        await perform(data as Request, task)
        scope.postMessage({ kind: 'end' } satisfies End)
      } catch (error) {
        const message = thrownMessage(error)
        scope.postMessage(
          signal.aborted ? ({ kind: 'end' } satisfies End) : ({ kind: 'failure', message } satisfies Failure),
        )
      }
    })
  })
}

/** Resolves in another turn of the event loop; a timer would wait 4 ms. */
function breathe(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(null)
  })
}
