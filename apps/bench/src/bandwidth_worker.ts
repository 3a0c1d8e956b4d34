// Copies memory too large for any cache, again and again, between the two messages it is sent and sends.

import { parentPort, workerData } from 'node:worker_threads'
import { required } from '@cudnn-rnn/canonical/rules'

const { bytes, copies } = workerData as { bytes: number; copies: number }
const source = new Float64Array(bytes / 8).fill(1)
const target = new Float64Array(bytes / 8).fill(2)
const port = required(parentPort, 'this file runs in a worker thread, which has a parent')

port.on('message', () => {
  const times: number[] = []
  for (let copy = 0; copy < copies; copy++) {
    const began = performance.now()
    target.set(source)
    times.push(performance.now() - began)
  }
  port.postMessage(times)
  port.close()
})
port.postMessage('ready')
