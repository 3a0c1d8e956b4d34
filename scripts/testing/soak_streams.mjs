// Joins, leaves, resets and crashes of a pool of workers, for minutes or hours:
//   CUDNN_RNN_SOAK_MINUTES=60 npm run soak:streams
// CUDNN_RNN_SOAK_LOAD=0.2 lets the clients work for that share of the time (default 1), on a machine that does other work.
// Streams open, step, reset, copy their state to others and close at random; workers are ended in the middle of that, and
// handles of parameters are shared that no thread opens. It fails if a call neither settles nor rejects with a known
// code, if an output differs from a separate stream's, and if memory grows in the last quarter of the time.
// Build first: npm run build.
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { Philox } from '../../packages/rnn/dist/executors.js'
import { CudnnLSTM, hasErrorCode, openBackend, openWorkerPool, serveStreams } from '../../packages/rnn/dist/index.js'
import { median } from '../bench/statistics.mjs'

const SIZES = { numLayers: 2, numUnits: 32, inputSize: 16 }
const {
  CUDNN_RNN_SOAK_MINUTES: minutes = '5',
  CUDNN_RNN_SOAK_LOAD: load = '1',
  CUDNN_RNN_SOAK_EXECUTOR: EXECUTOR = 'cpu',
} = process.env
const MINUTES = Number(minutes)
const LOAD = Number(load)
if (!(MINUTES > 0 && LOAD > 0 && LOAD <= 1))
  throw new RangeError(`minutes ${minutes} must be above 0 and load ${load} in 0..1`)
/** The clients work at the beginning of each of these periods. */
const PERIOD_MS = 50
/** Memory that the last quarter may add to the one before, in bytes. */
const GROWTH = 48 * 2 ** 20

if (isMainThread) await soak()
else {
  const lstm = new CudnnLSTM(await openBackend(EXECUTOR, EXECUTOR === 'cpu' ? { threads: 1 } : {}), SIZES)
  const pool = lstm.streamPool(lstm.sharedParams(workerData), { maxStreams: 200 })
  const crashing = (stream) => {
    const step = stream.step.bind(stream)
    stream.step = (frame) => {
      if (Number.isNaN(frame.data[0])) process.exit(9)
      return step(frame)
    }
    return stream
  }
  serveStreams(parentPort, { open: () => crashing(pool.open()), stats: () => pool.stats() })
}

async function soak() {
  const backend = await openBackend(EXECUTOR, EXECUTOR === 'cpu' ? { threads: 1 } : {})
  const lstm = new CudnnLSTM(backend, SIZES)
  const params = lstm.createParams({ seed: 1 })
  const shared = await lstm.shareParams(params)
  const start = () => new Worker(new URL(import.meta.url), { workerData: shared })
  const pool = await openWorkerPool({ workers: 2, start })
  const end = performance.now() + MINUTES * 60_000
  const counts = { steps: 0, opened: 0, closed: 0, resets: 0, restored: 0, lost: 0, refused: 0, crashes: 0, handles: 0 }
  const failures = []
  const random = new Philox(12345)
  const draw = (count) => Math.floor(random.uniform() * count)
  const frame = () => ({ data: Float32Array.from({ length: 16 }, () => draw(1000) / 500 - 1), shape: [16] })
  const known = (error) => {
    if (hasErrorCode(error, 'ERR_STREAM_WORKER_LOST')) counts.lost++
    else if (hasErrorCode(error, 'ERR_NO_WORKER', 'ERR_STREAM_CLOSED')) counts.refused++
    else failures.push(error)
  }

  /** Waits for the next period if the working part of this one is over. */
  async function pause() {
    const elapsed = performance.now() % PERIOD_MS
    if (elapsed > LOAD * PERIOD_MS) await new Promise((resolve) => setTimeout(resolve, PERIOD_MS - elapsed))
  }

  /** One client: a stream beside its own stream on this thread, whose outputs must be equal. */
  async function client() {
    while (performance.now() < end) {
      const own = lstm.stream(params)
      try {
        let stream = pool.open()
        counts.opened++
        for (let k = draw(60); k > 0; k--) {
          await pause()
          const call = draw(40)
          if (call === 0) {
            stream.reset()
            own.reset()
            counts.resets++
          } else if (call === 1) {
            const state = await stream.state()
            const next = pool.open()
            counts.opened++
            await next.restore(state)
            stream.close()
            counts.closed++
            counts.restored++
            stream = next
          } else {
            const x = frame()
            const result = stream.step(x)
            const expected = own.stepSync({ data: x.data, shape: [1, 16] }).data
            const { data } = await result
            counts.steps++
            for (const [index, value] of data.entries()) {
              if (!(Math.abs(value - expected[index]) < 1e-5))
                throw new Error(`output ${value} instead of ${expected[index]}`)
            }
          }
        }
        // Some leave with steps that wait.
        if (draw(4) === 0) stream.step(frame()).catch(known)
        stream.close()
        counts.closed++
      } catch (error) {
        known(error)
        await new Promise((resolve) => setTimeout(resolve, 5))
      } finally {
        own.dispose()
      }
    }
  }

  async function crashes() {
    while (performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 500 + draw(1500)))
      try {
        await pool.open().step({ data: new Float32Array(16).fill(Number.NaN), shape: [16] })
      } catch (error) {
        known(error)
      }
      counts.crashes++
      // Handles that no thread opens, of 8 MiB each.
      const { port1, port2 } = new MessageChannel()
      port1.postMessage({ elements: new Float32Array(new SharedArrayBuffer(8 << 20)) })
      port1.close()
      port2.close()
      counts.handles++
    }
  }

  const memory = []
  const sampling = setInterval(
    () => {
      globalThis.gc?.()
      memory.push(process.memoryUsage.rss())
    },
    (MINUTES * 60_000) / 60,
  )
  await Promise.all([...Array.from({ length: 40 }, client), crashes()])
  clearInterval(sampling)
  await pool.drain()
  const { streams, waiting, lostWorkers } = pool.stats()
  pool.dispose()
  const { steppers } = backend.stats()
  backend.dispose()
  const quarter = memory.length >> 2
  const growth = median(memory.slice(-quarter)) - median(memory.slice(2 * quarter, 3 * quarter))
  if (streams !== 0 || waiting !== 0)
    failures.push(new Error(`${streams} streams are open and ${waiting} steps wait at the end`))
  if (steppers !== 0) failures.push(new Error(`${steppers} streams of this thread are left`))
  if (growth > GROWTH)
    failures.push(new Error(`memory grew by ${(growth / 2 ** 20).toFixed(0)} MiB in the last quarter`))
  console.log({
    minutes: MINUTES,
    load: LOAD,
    ...counts,
    lostWorkers,
    growthMiB: Math.round(growth / 2 ** 20),
    rssMiB: memory.map((bytes) => Math.round(bytes / 2 ** 20)).join(' '),
    failures: failures.length,
  })
  for (const failure of failures.slice(0, 10)) console.error(failure)
  process.exitCode = failures.length === 0 ? 0 : 1
}
