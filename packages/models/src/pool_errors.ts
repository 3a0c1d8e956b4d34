import { type CodedError, codedRangeError } from '@cudnn-rnn/canonical'

/** The error of calls on a stream whose worker ended. */
export function workerLost(cause: unknown): CodedError {
  return failure(
    'ERR_STREAM_WORKER_LOST',
    'Cannot use a stream as the worker that held it ended: open another one, and restore a state that was read before',
    cause,
  )
}

/** The error of a worker that reported none. */
export function workerEnded(exitCode: number): CodedError {
  return failure(
    'ERR_WORKER_ENDED',
    `Cannot use a worker as its thread ended: exit code is ${exitCode}. Its program must call serveStreams, and must not exit`,
  )
}

export function poolDisposed(): CodedError {
  return codedRangeError('ERR_STREAM_DISPOSED', 'Cannot use a stream as its pool was disposed: open another pool')
}

export function streamClosed(): CodedError {
  return codedRangeError('ERR_STREAM_CLOSED', 'Cannot use a stream of a pool as it was closed: open another one')
}

function failure(code: string, message: string, cause?: unknown): CodedError {
  return Object.assign(new Error(message, cause === undefined ? {} : { cause }), { code }) as CodedError
}
