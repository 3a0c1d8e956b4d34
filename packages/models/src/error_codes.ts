/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_NOT_A_BACKEND: {
    meaning: 'something else than an executor was passed, perhaps a promise',
    remedy: '`await openBackend()` first',
  },
  ERR_NOT_A_WORKER: {
    meaning: '`serveStreams` was called in a thread without a parent',
    remedy: 'call it in the program of a worker thread, with `parentPort`',
  },
  ERR_NO_WORKER: {
    meaning: 'no worker of a pool is ready: they ended, and others start',
    remedy: 'try again in a moment; `onWorkerLost` reports why they ended',
  },
  ERR_NOT_A_STATE: {
    meaning: 'a value is not a state of a stream',
    remedy: 'pass a result of `stream.state()`',
  },
  ERR_NO_SYNC_STEP: {
    meaning: '`stepSync` or `stepRowsSync` on an executor that computes elsewhere and cannot wait',
    remedy: 'use `step()` or `stepRows()`',
  },
  ERR_OTHER_CELL: {
    meaning: 'a model was given the descriptor of another cell',
    remedy: 'build the model of that cell, or let `modelFromNetwork` choose',
  },
  ERR_POOL_FULL: {
    meaning: 'a pool has as many open streams as it may have',
    remedy: '`close()` a stream, or open the pool with a larger `maxStreams`',
  },
  ERR_SHARED_PARAMS: {
    meaning: 'a value is not a handle of shared parameters, or one of another executor or dtype',
    remedy: 'pass a result of `shareParams()` received by `postMessage` or `workerData`',
  },
  ERR_STREAM_BUSY: {
    meaning: 'the state of a stream was to change while a step is running',
    remedy: 'await `step()` first',
  },
  ERR_STREAM_CLOSED: {
    meaning: 'a stream of a pool was used after `close()`, or closed before its steps were computed',
    remedy: 'await the steps before `close()`',
  },
  ERR_STREAM_QUEUE_FULL: {
    meaning: 'more time steps wait in a stream of a pool than `maxQueued`: input arrives faster than it is computed',
    remedy: 'await earlier steps or drop input; nothing of the refused call was taken',
  },
  ERR_STREAM_WORKER_LOST: {
    meaning: 'the worker thread that held a stream ended; `cause` states why',
    remedy: '`open()` another stream, and restore a state that was read before',
  },
  ERR_WORKER_ENDED: {
    meaning: 'a worker thread ended without an error',
    remedy: 'its program must call `serveStreams`, and must not exit',
  },
} as const

/** Codes of the errors that this package defines. */
export type ModelErrorCode = keyof typeof ERROR_CODES
