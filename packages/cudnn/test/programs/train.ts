// Trains a few steps and prints a line. With the argument "exit" it exits while work is queued. Runs as a process or as
// a worker thread.
import { parentPort, workerData } from 'node:worker_threads'
import { openCudnnBackend } from '../../src/index.js'
import { smallLstm } from '../small_lstm.js'

const told = (workerData as string | undefined) ?? process.argv[2]
const backend = await openCudnnBackend({ algorithm: 'standard' })
const network = smallLstm(backend, { units: 32, time: 20 })
for (let step = 0; step < 5; step++) await network.step()
if (told === 'exit') {
  void network.step()
  void network.params.read()
  process.exit(7)
}
const { data } = await network.params.read()
let sum = 0
for (const value of data) sum += value
// An open executor must not keep a program alive: nothing is disposed here.
if (parentPort === null) console.log(sum)
else parentPort.postMessage(sum)
