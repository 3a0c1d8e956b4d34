// A worker thread of the voice server: Silero VAD on one core, its streams gathered into batches.
import { parentPort, workerData } from 'node:worker_threads'
import { type BackendName, openBackend, serveStreams, streamPoolOf } from '@cudnn-rnn/rnn'
import { type SharedSilero, SileroRows } from '../speech/silero_rows.js'
import type { SileroWeights } from '@cudnn-rnn/pretrained'

export interface VoiceWorkerData {
  readonly backend: BackendName
  readonly weights: SharedSilero
  readonly descriptor: SileroWeights['lstm']['descriptor']
  readonly maxStreams: number
  readonly maxDelayMs: number
  readonly maxBatch: number
}

const { backend, weights, descriptor, maxStreams, maxDelayMs, maxBatch } = workerData as VoiceWorkerData
const rows = new SileroRows(
  await openBackend(backend, backend === 'cpu' ? { threads: 1 } : {}),
  weights,
  descriptor,
  maxStreams,
)
serveStreams(parentPort, streamPoolOf(rows, { maxStreams, maxDelayMs, maxBatch, maxQueued: 128 }))
