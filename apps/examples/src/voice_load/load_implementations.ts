import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { CONTEXT, FRAME, UNITS } from '@cudnn-rnn/pretrained'
import type { SpeechPool, SpeechStream } from '../voice_server/speech_pool.js'
import { openSpeechWorkers } from '../voice_server/speech_workers.js'

export interface ImplementationOptions {
  /** The file of the model, which all implementations compute. */
  readonly weights: string
  /** A folder in whose node_modules the baselines are. */
  readonly baselines: string
  readonly cores: number
  readonly maxStreams: number
}

/** Who computes the frames behind the same server. */
export const IMPLEMENTATIONS = Object.freeze({
  pool: { label: 'pool of this project', open: openPool },
  'onnx-sessions': { label: 'onnxruntime-node, a session per stream', open: openSessions },
  'onnx-batched': { label: 'onnxruntime-node, batched by hand', open: openBatched },
  sherpa: { label: 'sherpa-onnx-node', open: openSherpa },
} as const)

export type ImplementationName = keyof typeof IMPLEMENTATIONS

function openPool({ weights, cores, maxStreams }: ImplementationOptions): Promise<SpeechPool> {
  return openSpeechWorkers({ weights, workers: cores, maxStreams, backend: 'cpu' })
}

/** The part of onnxruntime-node that is used. */
interface OnnxTensor {
  readonly data: Float32Array
}
interface OnnxSession {
  run(feeds: Readonly<Record<string, OnnxTensor>>): Promise<Readonly<Record<string, OnnxTensor>>>
}
interface OnnxRuntime {
  readonly InferenceSession: { create(path: string, options: object): Promise<OnnxSession> }
  readonly Tensor: new (type: string, data: unknown, shape: readonly number[]) => OnnxTensor
}

function baseline<Module>(baselines: string, name: string): Module {
  return createRequire(join(resolve(baselines), 'package.json'))(name) as Module
}

const SEEN = CONTEXT + FRAME

/** Each stream has a session of one thread; libuv's pool runs as many at once as there are cores. */
async function openSessions({ weights, baselines, maxStreams }: ImplementationOptions): Promise<SpeechPool> {
  const { InferenceSession, Tensor } = baseline<OnnxRuntime>(baselines, 'onnxruntime-node')
  const rate = new Tensor('int64', BigInt64Array.of(16_000n), [])
  const options = { intraOpNumThreads: 1, interOpNumThreads: 1, executionMode: 'sequential' }
  let waiting = 0
  return {
    open(): SpeechStream {
      const session = InferenceSession.create(weights, options)
      let state = new Tensor('float32', new Float32Array(2 * UNITS), [2, 1, UNITS])
      let seen = new Float32Array(SEEN)
      let previous: Promise<unknown> = session
      return {
        step(frame) {
          const samples = Float32Array.from(frame.data)
          waiting++
          const result = previous.then(async () => {
            const input = new Float32Array(SEEN)
            input.set(seen.subarray(FRAME))
            input.set(samples, CONTEXT)
            seen = input
            const outputs = await (await session).run({
              input: new Tensor('float32', input, [1, SEEN]),
              state,
              sr: rate,
            })
            state = outputs['stateN']
            return { data: outputs['output'].data, shape: [1] }
          })
          previous = result.catch(() => undefined)
          return result.finally(() => waiting--)
        },
        close() {},
      }
    },
    stats: () => ({ maxStreams, waiting }),
    dispose() {},
  }
}

interface WaitingFrame {
  readonly stream: { state: Float32Array; context: Float32Array; isBusy: boolean }
  readonly samples: Float32Array
  readonly resolve: (probability: number) => void
  readonly reject: (reason: unknown) => void
}

/** One session; the frames that have arrived when it is free are a batch, their states gathered and scattered by hand. */
async function openBatched({ weights, baselines, cores, maxStreams }: ImplementationOptions): Promise<SpeechPool> {
  const { InferenceSession, Tensor } = baseline<OnnxRuntime>(baselines, 'onnxruntime-node')
  const session = await InferenceSession.create(weights, { intraOpNumThreads: cores })
  const rate = new Tensor('int64', BigInt64Array.of(16_000n), [])
  let queue: WaitingFrame[] = []
  let isRunning = false
  const run = async () => {
    isRunning = true
    while (queue.length > 0) {
      const batch: WaitingFrame[] = []
      const later: WaitingFrame[] = []
      for (const each of queue) {
        if (each.stream.isBusy || batch.length === 256) later.push(each)
        else batch.push(each)
        each.stream.isBusy = true
      }
      for (const { stream } of [...batch, ...later]) stream.isBusy = false
      queue = later
      const count = batch.length
      const input = new Float32Array(count * SEEN)
      const state = new Float32Array(2 * count * UNITS)
      for (const [row, { stream, samples }] of batch.entries()) {
        input.set(stream.context, row * SEEN)
        input.set(samples, row * SEEN + CONTEXT)
        for (const part of [0, 1]) {
          state.set(stream.state.subarray(part * UNITS, (part + 1) * UNITS), (part * count + row) * UNITS)
        }
      }
      try {
        const outputs = await session.run({
          input: new Tensor('float32', input, [count, SEEN]),
          state: new Tensor('float32', state, [2, count, UNITS]),
          sr: rate,
        })
        const next = outputs['stateN'].data
        for (const [row, { stream, samples, resolve }] of batch.entries()) {
          stream.context = samples.slice(FRAME - CONTEXT)
          for (const part of [0, 1]) {
            const begin = (part * count + row) * UNITS
            stream.state.set(next.subarray(begin, begin + UNITS), part * UNITS)
          }
          resolve(outputs['output'].data[row])
        }
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    isRunning = false
  }
  return {
    open(): SpeechStream {
      const stream = { state: new Float32Array(2 * UNITS), context: new Float32Array(CONTEXT), isBusy: false }
      return {
        async step(frame) {
          const samples = Float32Array.from(frame.data)
          const probability = await new Promise<number>((resolve, reject) => {
            queue.push({ stream, samples, resolve, reject })
            if (!isRunning) setImmediate(() => isRunning || run())
          })
          return { data: Float32Array.of(probability), shape: [1] }
        },
        close() {},
      }
    },
    stats: () => ({ maxStreams, waiting: queue.length }),
    dispose() {},
  }
}

interface SherpaVad {
  acceptWaveform(samples: Float32Array): void
  isDetected(): boolean
}
interface Sherpa {
  readonly Vad: new (config: object, seconds: number) => SherpaVad
}

/** A detector per stream. It computes on the calling thread and gives no probability, but whether there is speech. */
async function openSherpa({ weights, baselines, maxStreams }: ImplementationOptions): Promise<SpeechPool> {
  const { Vad } = baseline<Sherpa>(baselines, 'sherpa-onnx-node')
  const sileroVad = {
    model: weights,
    threshold: 0.5,
    minSpeechDuration: 0.1,
    minSilenceDuration: 0.1,
    windowSize: FRAME,
  }
  return {
    open(): SpeechStream {
      const vad = new Vad({ sileroVad, sampleRate: 16_000, numThreads: 1, debug: false }, 2)
      return {
        async step(frame) {
          vad.acceptWaveform(Float32Array.from(frame.data))
          return { data: Float32Array.of(vad.isDetected() ? 1 : 0), shape: [1] }
        },
        close() {},
      }
    },
    stats: () => ({ maxStreams, waiting: 0 }),
    dispose() {},
  }
}
