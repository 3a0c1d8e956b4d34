import { afterEach, describe, expect, it, vi } from 'vitest'
import { serve, type Task } from '../src/worker/work.js'

interface Request {
  readonly kind: 'count'
  readonly to: number
}

/** A worker's scope in this thread: `send` is the page, `posted` are the messages that it receives. */
function workerScope(perform: (request: Request, task: Task<unknown>) => Promise<void>) {
  const posted: unknown[] = []
  let receive = (_: { data: unknown }) => {}
  vi.stubGlobal('postMessage', (message: unknown) => posted.push(message))
  vi.stubGlobal('addEventListener', (_: string, listener: typeof receive) => {
    receive = listener
  })
  serve(perform)
  const send = (data: unknown) => receive({ data })
  const ended = (count: number) =>
    vi.waitFor(
      () => {
        const ends = posted.filter((message) => ['end', 'failure'].includes((message as Request).kind))
        expect(ends).toHaveLength(count)
      },
      { timeout: 60_000 },
    )
  return { posted, send, ended }
}

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('serve', () => {
  it('performs requests one after the other, and reports the end of each', async () => {
    const { posted, send, ended } = workerScope(async ({ to }, { post, breathe }) => {
      for (let k = 0; k < to; k++) {
        post(k)
        await breathe()
      }
    })
    send({ kind: 'count', to: 2 })
    send({ kind: 'count', to: 1 })
    await ended(2)
    expect(posted).toEqual([0, 1, { kind: 'end' }, 0, { kind: 'end' }])
  })

  it('reports a failure in words, and performs the next request', async () => {
    const { posted, send, ended } = workerScope(async ({ to }) => {
      if (to === 0) throw new Error('There is no model yet.')
      if (to === 1) throw 'text'
    })
    for (const to of [0, 1, 2]) send({ kind: 'count', to })
    await ended(3)
    expect(posted).toEqual([
      { kind: 'failure', message: 'There is no model yet.' },
      { kind: 'failure', message: 'text' },
      { kind: 'end' },
    ])
  })

  it('hands a stop to the request in progress alone', async () => {
    const signals: AbortSignal[] = []
    const { posted, send, ended } = workerScope(async ({ to }, { signal, breathe }) => {
      signals.push(signal)
      for (let k = 0; k < to && !signal.aborted; k++) await breathe()
    })
    send({ kind: 'count', to: 1_000_000 })
    send({ kind: 'count', to: 3 })
    await vi.waitFor(() => expect(signals).toHaveLength(1), { timeout: 60_000 })
    send({ kind: 'stop' })
    await ended(2)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    expect(posted).toEqual([{ kind: 'end' }, { kind: 'end' }])
  })

  it('reports a request that rejects for a stop as ended, not as failed', async () => {
    const { posted, send, ended } = workerScope(async (_, { signal, breathe }) => {
      for (;;) {
        await breathe()
        signal.throwIfAborted()
      }
    })
    send({ kind: 'count', to: 1 })
    await new Promise((resolve) => setTimeout(resolve, 0))
    send({ kind: 'stop' })
    await ended(1)
    expect(posted).toEqual([{ kind: 'end' }])
  })

  it('passes over a stop without a request', async () => {
    const { posted, send, ended } = workerScope(async (_, { signal }) => signal.throwIfAborted())
    send({ kind: 'stop' })
    send({ kind: 'count', to: 1 })
    await ended(1)
    expect(posted).toEqual([{ kind: 'end' }])
  })
})
