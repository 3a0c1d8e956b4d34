import { Worker } from 'node:worker_threads'
import { readSileroWeights } from '@cudnn-rnn/pretrained'
import { type BackendName, openBackend, openWorkerPool, type WorkerLoss, type WorkerPool } from '@cudnn-rnn/rnn'
import { type SileroState, shareSilero } from '../speech/silero_rows.js'
import type { VoiceWorkerData } from './voice_worker.js'

export interface SpeechWorkersOptions {
  /** `silero_vad_16k_op15.onnx` of snakers4/silero-vad. */
  readonly weights: string
  readonly workers: number
  /** Streams of each worker. */
  readonly maxStreams: number
  /** `cpu`, or `reference` if its addon is missing. */
  readonly backend: BackendName
  /** Milliseconds for which a frame may wait for other streams' frames. */
  readonly maxDelayMs?: number
  /** Streams computed at once; smaller batches answer the first streams sooner. */
  readonly maxBatch?: number
  /** The program of a worker, which the build puts beside this one. */
  readonly program?: URL
  readonly onWorkerLost?: (loss: WorkerLoss) => void
}

/** Worker threads that detect speech and share one copy of the weights. */
export async function openSpeechWorkers(options: SpeechWorkersOptions): Promise<WorkerPool<SileroState>> {
  const { workers, maxStreams, maxDelayMs = 0, maxBatch = 128, onWorkerLost } = options
  const backend = await openBackend(options.backend)
  const weights = await readSileroWeights(options.weights)
  const workerData: VoiceWorkerData = {
    // The one that "auto" chose here is the one whose layout the handle has.
    backend: backend.name as BackendName,
    weights: await shareSilero(backend, weights),
    descriptor: weights.lstm.descriptor,
    ...{ maxStreams, maxDelayMs, maxBatch },
  }
  backend.dispose()
  const program = options.program ?? new URL('./voice_worker.js', import.meta.url)
  return openWorkerPool<SileroState>({
    workers,
    start: () => new Worker(program, { workerData }),
    maxQueued: 128,
    onWorkerLost,
  })
}
