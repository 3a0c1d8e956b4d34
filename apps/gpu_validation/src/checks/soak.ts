import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { thrownMessage } from '@cudnn-rnn/canonical/rules'
import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { trainingForward } from '@cudnn-rnn/conformance'
import { type CudnnBackend, type CudnnBackendOptions, openCudnnBackend } from '@cudnn-rnn/cudnn'
import { type CheckContext, type CheckGroup, wave, withSession } from '../check.js'
import { judged, noted } from '../outcome.js'

const CYCLES = 10_000
const MEGABYTE = 2 ** 20

/**
 * Section 14: memory of the device and of the process after many executors, networks and tensors are made and freed.
 */
export const soak: CheckGroup = async (context) => {
  const { options, isQuick, report, deadline } = context
  const half = performance.now() + (deadline - performance.now()) / 2
  await networks(context, half)
  const free = () =>
    withSession(context, async (session) => {
      const list = session.list('query')
      list.add('memoryInfo', {})
      return (await session.run(list))[0]
    })
  // The first executors of a process load libraries and kernels that stay loaded, so they are not counted.
  for (let n = 0; n < 3; n++) await trainOnce(options)
  const before = { free: await free(), rss: process.memoryUsage().rss }
  let cycles = 0
  const most = isQuick ? 20 : CYCLES
  for (; cycles < most && performance.now() < deadline; cycles++) await trainOnce(options)
  globalThis.gc?.()
  const after = { free: await free(), rss: process.memoryUsage().rss }
  const measured = {
    cycles,
    deviceMegabytes: (before.free - after.free) / MEGABYTE,
    processMegabytes: (after.rss - before.rss) / MEGABYTE,
  }
  const holds = measured.deviceMegabytes <= 64 && measured.processMegabytes <= 64
  report(judged('14.1', 'executors opened, trained with and closed', 'at most 64 MiB more held', measured, holds))
}

async function trainOnce(options: CudnnBackendOptions): Promise<void> {
  await using backend = await openCudnnBackend({ ...options, algorithm: 'standard' })
  await step(backend)
}

/** One training step of a network that is made for it and disposed after it. */
async function step(backend: CudnnBackend): Promise<void> {
  const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 16, inputSize: 8 }))
  const params = backend.tensor({ data: Float32Array.from(wave(rnn.paramsSize, 0.1)), shape: [rnn.paramsSize] })
  const input = { data: Float32Array.from(wave(6 * 4 * 8, 1)), shape: [6, 4, 8] }
  const given = { input, inputH: null, inputC: null, params, sequenceLengths: null }
  const result = await trainingForward(rnn, given)
  const gradients = await rnn.backward(result.tape, { output: result.output })
  await gradients.params.read()
  for (const tensor of [params, ...Object.values(result), ...Object.values(gradients)]) tensor?.dispose()
  rnn.dispose()
}

async function networks({ options, isQuick, report }: CheckContext, deadline: number): Promise<void> {
  await using backend = await openCudnnBackend({ ...options, algorithm: 'standard' })
  for (let n = 0; n < 20; n++) await step(backend)
  const before = process.memoryUsage().rss
  const most = isQuick ? 100 : CYCLES
  let cycles = 0
  const half = performance.now() + (deadline - performance.now()) / 2
  let middle: number | undefined
  for (; cycles < most && performance.now() < deadline; cycles++) {
    await step(backend)
    if (middle !== undefined || (cycles < most / 2 && performance.now() < half)) continue
    globalThis.gc?.()
    middle = process.memoryUsage().rss
  }
  globalThis.gc?.()
  const end = process.memoryUsage().rss
  const megabytes = (from: number) => Math.round((10 * (end - from)) / MEGABYTE) / 10
  const measured = {
    cycles,
    counted: backend.stats(),
    processMegabytes: megabytes(before),
    ofSecondHalf: megabytes(middle ?? before),
  }
  const isNothing = Object.values(measured.counted).every((count) => count === 0)
  const what = 'networks made, trained with and disposed in one executor'
  // Compiled code, and pools of the allocator and of cuDNN, fill in the first half.
  const expected = 'nothing counted, at most 16 MiB more in the second half'
  report(judged('14.2', what, expected, measured, isNothing && measured.ofSecondHalf <= 16))
}

/** Section 14: four worker threads and two executors at once, and leaving in the middle of work. */
export const threads: CheckGroup = async (context) => {
  const { options, report } = context
  const program = fileURLToPath(import.meta.url)
  const sums = await Promise.all(
    Array.from(
      { length: 4 },
      () =>
        new Promise<number | string>((resolve) => {
          const worker = new Worker(program, { workerData: { train: options } })
          worker.on('message', resolve).on('error', (error) => resolve(thrownMessage(error)))
        }),
    ),
  )
  const areEqual = new Set(sums).size === 1 && typeof sums[0] === 'number'
  report(judged('14.3', 'four worker threads train at once', 'the same parameters', sums, areEqual))

  const both = await Promise.all([trainedSum(options), trainedSum(options)])
  const expected = await trainedSum(options)
  const holds = both.every((sum) => sum === expected)
  report(judged('14.4', 'two executors, two streams, at once', `${expected} as one alone`, both, holds))

  const { status, signal, stderr } = spawnSync(process.execPath, [program, '--leave'], { encoding: 'utf8' })
  const left = status === 7 && signal === null
  report(judged('14.5', 'process.exit(7) in the middle of work', 'exits with 7', { status, signal, stderr }, left))
  report(noted('14.6', 'memory of the process at the end (MiB)', process.memoryUsage().rss / MEGABYTE))
}

/** Section 14, last: persistent kernels of two executors at once, whose blocks wait for each other. */
export const persistentPair: CheckGroup = async ({ options, report }) => {
  for (const algorithm of ['persist_static_small_h', 'persist_static'] as const) {
    const given = { ...options, algorithm }
    const alone = await trainedSum(given, 1)
    const both = await Promise.all([trainedSum(given, 1), trainedSum(given, 1)])
    report(noted('14.7', `two executors with ${algorithm} at once`, { alone, both }))
  }
}

/** Trains for twenty steps: the sum of the parameters. */
export async function trainedSum(options: CudnnBackendOptions, numLayers = 2): Promise<number> {
  await using backend = await openCudnnBackend({ algorithm: 'standard', ...options })
  const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers, numUnits: 32, inputSize: 16 }))
  const params = backend.tensor({ data: Float32Array.from(wave(rnn.paramsSize, 0.1)), shape: [rnn.paramsSize] })
  const input = backend.tensor({ data: Float32Array.from(wave(10 * 8 * 16, 1)), shape: [10, 8, 16] })
  const given = { input, inputH: null, inputC: null, params, sequenceLengths: null }
  for (let n = 0; n < 20; n++) {
    const { output, tape } = await trainingForward(rnn, given)
    const gradients = await rnn.backward(tape, { output })
    backend.ops.update('sgd', params, [], gradients.params, { learningRate: 0.01 })
  }
  let sum = 0
  for (const value of (await params.read()).data) sum += value
  return sum
}

/** Queues work and leaves the process with status 7 while it runs. */
export async function leaveInFlight(options: CudnnBackendOptions): Promise<never> {
  const backend = await openCudnnBackend({ ...options, algorithm: 'standard' })
  const shape = { numLayers: 2, numUnits: 64, inputSize: 64 } as const
  const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', ...shape }))
  const params = backend.zeros([rnn.paramsSize])
  const input = backend.zeros([20, 16, 64])
  const given = { input, inputH: null, inputC: null, params, sequenceLengths: null }
  for (let n = 0; n < 50; n++) await rnn.forward({ ...given, training: false })
  void params.read()
  process.exit(7)
}
