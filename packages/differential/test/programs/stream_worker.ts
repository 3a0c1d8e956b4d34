// A worker of a pool: serves an LSTM's streams on the executor that `workerData` names. A frame that begins with 1,000
// ends the thread, one with 2,000 throws outside of any promise.
import { parentPort, workerData } from 'node:worker_threads'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { CudnnLSTM, type PooledStream, type SharedParams, serveStreams } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'

export interface StreamWorkerData {
  readonly executor: 'cpu' | 'reference'
  readonly weights?: 'float32' | 'int8'
  readonly sizes: { readonly numLayers: number; readonly numUnits: number; readonly inputSize: number }
  readonly params: SharedParams
  readonly maxStreams: number
}

const { executor, weights, sizes, params, maxStreams } = workerData as StreamWorkerData
const backend = executor === 'cpu' ? openCpuBackend({ threads: 1, weights }) : openReferenceBackend()
const lstm = new CudnnLSTM(backend, sizes)
const pool = lstm.streamPool(lstm.sharedParams(params), { maxStreams })

serveStreams(parentPort, { open: () => withCrashes(pool.open()), stats: () => pool.stats() })

function withCrashes(stream: PooledStream): PooledStream {
  const step = stream.step.bind(stream)
  stream.step = (frame) => {
    const first = 'data' in frame && typeof frame.data === 'object' ? frame.data[0] : undefined
    if (first === 1000) process.exit(3)
    if (first === 2000) {
      setImmediate(() => {
        throw new Error('a defect of the program')
      })
    }
    return step(frame)
  }
  return stream
}
