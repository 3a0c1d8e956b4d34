// Measures the pools of streams (docs/streams.md, "Numbers"), LSTM 2 × 128 with inputs of 128 on the cpu executor:
//   node scripts/bench_streams.mjs [--threads N] [--rounds N] [--json FILE]
// - steps per second of 1,000 streams with one frame each, pool over stepSync of one stream; rounds alternate, medians
// - the time that a pool adds to one stream: step of the pool less stepSync
// - memory of an idle stream: 20,000 of them
// Build first: npm run build.
import { writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { CudnnLSTM, openBackend } from '../packages/rnn/dist/index.js'

const SIZES = { numLayers: 2, numUnits: 128, inputSize: 128, inputMode: 'linear_input' }
const STREAMS = 1000
const SINGLE_STEPS = 2000
const IDLE_STREAMS = 20_000

const { values: options } = parseArgs({
  options: {
    threads: { type: 'string', default: String(Math.min(2, availableParallelism())) },
    rounds: { type: 'string', default: '30' },
    json: { type: 'string' },
  },
})
const rounds = Number(options.rounds)
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1]
const frame = (shape) => ({ data: Float32Array.from({ length: 128 }, (_, k) => Math.sin(k)), shape })

const backend = await openBackend('cpu', { threads: Number(options.threads) })
const lstm = new CudnnLSTM(backend, SIZES)
const params = lstm.createParams({ seed: 1 })
const single = lstm.stream(params)
const x = frame([1, 128])
const out = { data: new Float32Array(128), shape: [1, 128] }
const pool = lstm.streamPool(params, { maxStreams: STREAMS })
const streams = Array.from({ length: STREAMS }, () => pool.open())
const input = frame([128])

const microseconds = async (count, work) => {
  const begin = performance.now()
  await work()
  return (1000 * (performance.now() - begin)) / count
}
const stepSingle = (count) =>
  microseconds(count, () => {
    for (let k = 0; k < count; k++) single.stepSync(x, out)
  })
const stepPool = () => microseconds(STREAMS, () => Promise.all(streams.map((stream) => stream.step(input))))

const times = { single: [], pool: [], alone: [] }
for (let round = -3; round < rounds; round++) {
  const measured = {
    single: await stepSingle(SINGLE_STEPS),
    pool: await stepPool(),
    alone: await microseconds(200, async () => {
      for (let k = 0; k < 200; k++) await streams[0].step(input)
    }),
  }
  // The first rounds warm up.
  if (round >= 0) for (const name in times) times[name].push(measured[name])
}
pool.dispose()

const before = process.memoryUsage.rss()
const idlePool = lstm.streamPool(params, { maxStreams: IDLE_STREAMS })
const idle = Array.from({ length: IDLE_STREAMS }, () => idlePool.open())
await Promise.all(idle.map((stream) => stream.step(input)))
const idleKiB = (process.memoryUsage.rss() - before) / IDLE_STREAMS / 1024
idlePool.dispose()

const result = {
  machineLoad: loadavg()[0] / availableParallelism(),
  backend: backend.reason,
  singleUs: median(times.single),
  poolUs: median(times.pool),
  poolOverSingle: median(times.single) / median(times.pool),
  addedUs: median(times.alone) - median(times.single),
  idleKiB,
}
backend.dispose()
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(result, undefined, 2)}\n`)
console.log(`${result.backend}; ${result.machineLoad.toFixed(1)} runnable processes per core before the end`)
console.log(`stepSync of one stream            ${result.singleUs.toFixed(1)} µs`)
console.log(
  `a step in a pool of ${STREAMS} streams   ${result.poolUs.toFixed(1)} µs: ${result.poolOverSingle.toFixed(2)} × as many steps`,
)
console.log(`added by a pool to one stream     ${result.addedUs.toFixed(0)} µs`)
console.log(`an idle stream                    ${idleKiB.toFixed(1)} KiB`)
