import type { CodedError } from '@cudnn-rnn/canonical'
import { codedError, codedRangeError } from '@cudnn-rnn/canonical/rules'

/** The error of calls on a stream whose worker ended. */
export function workerLost(cause: unknown): CodedError {
  return codedError(
    'ERR_STREAM_WORKER_LOST',
    'Cannot use a stream as the worker that held it ended: open another one, and restore a state that was read before',
    { cause },
  )
}

/** The error of a worker that reported none. */
export function workerEnded(exitCode: number): CodedError {
  return codedError(
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
