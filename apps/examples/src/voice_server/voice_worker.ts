// A worker thread of the voice server: Silero VAD on one core, its streams gathered into batches.
import { constants, getPriority, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import type { SileroWeights } from '@cudnn-rnn/pretrained'
import { type BackendName, openBackend, serveStreams } from '@cudnn-rnn/rnn'
import { streamPoolOf } from '@cudnn-rnn/rnn/layers'
import { type SharedSilero, SileroRows } from '../speech/silero_rows.js'

export interface VoiceWorkerData {
  readonly backend: BackendName
  readonly weights: SharedSilero
  readonly descriptor: SileroWeights['lstm']['descriptor']
  readonly maxStreams: number
  readonly maxDelayMs: number
  readonly maxBatch: number
}

/** Added to the nice value of this thread. */
const NICENESS = 5
// A round keeps a core busy for milliseconds. If clients, sockets and workers need more cores than there are, the thread
// with the sockets would wait for as long; with the higher priority it interrupts the round. Only on Linux does the
// priority belong to the thread: elsewhere the whole process would get it.
if (process.platform === 'linux') setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + NICENESS))

const { backend, weights, descriptor, maxStreams, maxDelayMs, maxBatch } = workerData as VoiceWorkerData
const rows = new SileroRows(
  await openBackend(backend, backend === 'cpu' ? { threads: 1 } : {}),
  weights,
  descriptor,
  maxStreams,
)
serveStreams(parentPort, streamPoolOf(rows, { maxStreams, maxDelayMs, maxBatch, maxQueued: 128 }))
