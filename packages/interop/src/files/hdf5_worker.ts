// The thread in which the HDF5 library runs: one file at a time, one answer to each request, in order.

import { parentPort } from 'node:worker_threads'
import { required } from '@cudnn-rnn/canonical/rules'
import type { Hdf5Answer, Hdf5Request } from './hdf5_messages.js'
import { Hdf5Session } from './hdf5_session.js'

let session: Hdf5Session | undefined
/** Requests are answered in order, also those that arrive while a file is opened. */
let last: Promise<void> = Promise.resolve()

const port = required(parentPort, 'this file runs in a worker thread, which has a parent')

port.on('message', (request: Hdf5Request) => {
  last = last.then(async () => {
    const { answer, transfer } = await answerTo(request)
    port.postMessage(answer, transfer)
  })
})
port.postMessage('ready')

async function answerTo(request: Hdf5Request): Promise<{ answer: Hdf5Answer; transfer: ArrayBuffer[] }> {
  try {
    const value = await resultOf(request)
    const transfer = ArrayBuffer.isView(value) ? [value.buffer as ArrayBuffer] : []
    return { answer: { value, isSound: session?.isSound ?? false }, transfer }
  } catch (error) {
    const { code, message, cause } = error as Error & { readonly code?: unknown }
    return {
      answer: { error: { code, message, cause: String(cause) }, isSound: session?.isSound ?? false },
      transfer: [],
    }
  }
}

async function resultOf(request: Hdf5Request): Promise<unknown> {
  if ('open' in request) {
    session = undefined
    session = await Hdf5Session.open(request.open)
    return undefined
  }
  const call = required(session, 'the first request opens the session')[request.call] as (
    ...parameters: readonly unknown[]
  ) => unknown
  return call.apply(session, [...request.parameters])
}
