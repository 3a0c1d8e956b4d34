import { thrownMessage } from '@cudnn-rnn/canonical/rules'

/**
 * The calls that the main thread sends to a worker: kind, stream (0 for the worker itself), and the numbers, tensors and
 * values named here. A call that is answered has a number.
 */
export const STREAM_CALL = Object.freeze({
  open: 0,
  /** call, tensor; answered by a tensor */
  step: 1,
  /** call; answered by a state as a value */
  state: 2,
  /** call, state as a value */
  restore: 3,
  reset: 4,
  close: 5,
  /** call; answered by the statistics of the pool as a value */
  stats: 6,
})

/** The answers of a worker: stream, call, kind of answer, and the tensor or value named here. */
export const STREAM_ANSWER = Object.freeze({
  done: 0,
  /** tensor */
  tensor: 1,
  /** value */
  value: 2,
  /** {@link SentError} as a value */
  error: 3,
})

/** The first message of a worker. */
export interface WorkerReady {
  readonly ready: true
  /** Streams that may be open in it. */
  readonly maxStreams: number
}

export function isWorkerReady(message: unknown): message is WorkerReady {
  const { ready, maxStreams } = (message ?? {}) as Partial<WorkerReady>
  return ready === true && Number.isSafeInteger(maxStreams)
}

/** An error on its way from one thread to another, which loses the fields of an Error. */
export interface SentError {
  readonly name: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** @param error anything that was thrown, with getters and texts that may throw again. */
export function sentError(error: unknown): SentError {
  try {
    if (!(error instanceof Error)) return { name: 'Error', message: thrownMessage(error), fields: {} }
    const fields = Object.fromEntries(Object.entries(error).filter(([, value]) => isPlain(value)))
    return { name: `${error.name}`, message: `${error.message}`, fields }
  } catch {
    return { name: 'Error', message: thrownMessage(error), fields: {} }
  }
}

const ERROR_TYPES: ReadonlyMap<string, typeof Error> = new Map([
  ['RangeError', RangeError],
  ['TypeError', TypeError],
])

export function receivedError({ name, message, fields }: SentError): Error {
  return Object.assign(new (ERROR_TYPES.get(name) ?? Error)(message), fields)
}

function isPlain(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean', 'undefined'].includes(typeof value)
}
