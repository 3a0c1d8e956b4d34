// A worker of the pools of the walk: serves the streams of an LSTM on the reference executor.
import { parentPort } from 'node:worker_threads'
import { CudnnLSTM, serveStreams } from '../../../packages/models/dist/index.js'
import { openReferenceBackend } from '../../../packages/reference/dist/index.js'

const lstm = new CudnnLSTM(openReferenceBackend(), { numLayers: 1, numUnits: 2, inputSize: 3 })
serveStreams(parentPort, lstm.streamPool(lstm.createParams({ seed: 1 }), { maxStreams: 1000 }))
