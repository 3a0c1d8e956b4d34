import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { End, Failure, Stop } from './work.js'

/** A worker as a panel sees it: it performs tasks one after the other. */
export interface WorkerTasks<Request> {
  readonly isBusy: boolean
  readonly error: string | undefined
  readonly begin: (request: Request) => void
  readonly stop: () => void
}

/**
 * A worker for the life of a component. It is started by the first task.
 *
 * @param receive gets the messages of tasks; ends and failures are in the result.
 */
export function useWorker<Request, Message extends { readonly kind: string }>(
  start: () => Worker,
  receive: (message: Message) => void,
): WorkerTasks<Request> {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<string>()
  const worker = useRef<Worker | undefined>(undefined)
  const waiting = useRef(0)
  const receiver = useRef(receive)
  receiver.current = receive
  useEffect(() => () => worker.current?.terminate(), [])
  return useMemo(() => {
    const end = (message?: string) => {
      waiting.current -= 1
      setBusy(waiting.current > 0)
      if (message !== undefined) setError(message)
    }
    const begin = (request: Request) => {
      if (worker.current === undefined) {
        worker.current = start()
        worker.current.onmessage = ({ data }: MessageEvent<Message | End | Failure>) => {
          if (data.kind === 'end') end()
          else if (data.kind === 'failure') end((data as Failure).message)
          else receiver.current(data as Message)
        }
        worker.current.onerror = ({ message }) => end(message || 'The worker could not be started')
      }
      waiting.current += 1
      setBusy(true)
      setError(undefined)
      worker.current.postMessage(request)
    }
    const stop = () => worker.current?.postMessage({ kind: 'stop' } satisfies Stop)
    return { isBusy, error, begin, stop }
  }, [isBusy, error, start])
}
