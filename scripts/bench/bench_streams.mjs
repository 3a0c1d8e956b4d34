// Measures the pools of streams (docs/streams.md, "Numbers"), LSTM 2 × 128 with inputs of 128 on the cpu executor:
//   node scripts/bench/bench_streams.mjs [--threads N] [--rounds N] [--json FILE]
// - steps per second of 1,000 streams with one frame each, pool over stepSync of a stream for each, and over a run of
//   onnxruntime-node for each stream, all at once or one after the other; medians, rounds of the first two alternate
// - for comparison stepSync of one stream again and again, whose state and scratch memory stay in the cache
// - the part of a pool's step that is the batched step itself, both in bfloat16 and int8 too
// - the time that a pool adds to one stream: step of the pool less stepSync
// - memory of an idle stream: 20,000 of them
// Build first: npm run build. onnxruntime-node takes part after `npm ci --prefix apps/bench/baselines --ignore-scripts`.
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { exportWeights } from '../../packages/interop/dist/index.js'
import { CudnnLSTM, openBackend } from '../../packages/rnn/dist/index.js'
import { median } from './statistics.mjs'

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
// libuv's threads run the calls of onnxruntime-node.
process.env.UV_THREADPOOL_SIZE = options.threads
const frame = (shape) => ({ data: Float32Array.from({ length: 128 }, (_, k) => Math.sin(k)), shape })

const backend = await openBackend('cpu', { threads: Number(options.threads) })
const lstm = new CudnnLSTM(backend, SIZES)
const params = lstm.createParams({ seed: 1 })
const single = lstm.stream(params)
const x = frame([1, 128])
const out = { data: new Float32Array(128), shape: [1, 128] }
const singles = Array.from({ length: STREAMS }, () => lstm.stream(params))
const input = frame([128])
const rows = Int32Array.from({ length: STREAMS }, (_, row) => row)
const rowsX = { data: new Float32Array(STREAMS * 128).fill(0.1), shape: [STREAMS, 128] }
const rowsOut = { data: new Float32Array(STREAMS * 128), shape: [STREAMS, 128] }

const microseconds = async (count, work) => {
  const begin = performance.now()
  await work()
  return (1000 * (performance.now() - begin)) / count
}
const stepSingle = (count) =>
  microseconds(count, () => {
    for (let k = 0; k < count; k++) single.stepSync(x, out)
  })
const stepSingles = () =>
  microseconds(STREAMS, () => {
    for (const stream of singles) stream.stepSync(x, out)
  })

/** A pool of all streams, and the batched step that its rounds are, on an executor of this precision. */
function openPool(precision, model, values) {
  const pool = model.streamPool(values, { maxStreams: STREAMS })
  const batch = model.stream(values, { batch: STREAMS })
  const streams = Array.from({ length: STREAMS }, () => pool.open())
  return {
    ...{ precision, pool, streams, times: { pool: [], rows: [] } },
    stepPool: () => microseconds(STREAMS, () => Promise.all(streams.map((stream) => stream.step(input)))),
    stepRows: () => microseconds(STREAMS, () => batch.stepRowsSync(rows, rowsX, rowsOut)),
  }
}
const REDUCED = { bfloat16: { precision: 'bfloat16' }, int8: { weights: 'int8', activations: 'int8' } }
const pools = [openPool('float32', lstm, params)]
for (const [precision, settings] of Object.entries(REDUCED)) {
  const model = new CudnnLSTM(await openBackend('cpu', { threads: Number(options.threads), ...settings }), SIZES)
  pools.push(openPool(precision, model, model.createParams({ seed: 1 })))
}
const [{ streams }] = pools

/** A step of one stream of onnxruntime-node, whose state its caller carries; undefined if it is not installed. */
async function openOnnxStreams() {
  let ort
  try {
    ort = createRequire(new URL('../../apps/bench/baselines/package.json', import.meta.url))('onnxruntime-node')
  } catch {
    return undefined
  }
  const network = { name: 'lstm', descriptor: lstm.descriptor, canonical: await lstm.paramsToCanonical(params) }
  const session = await ort.InferenceSession.create(await exportWeights([network], { format: 'onnx' }), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  })
  const frameTensor = new ort.Tensor('float32', x.data, [1, 1, 128])
  return Array.from({ length: STREAMS }, () => {
    let h = new ort.Tensor('float32', new Float32Array(2 * 128), [2, 1, 128])
    let c = h
    return async () => {
      const results = await session.run({ input: frameTensor, initial_h: h, initial_c: c })
      h = results.final_h
      c = results.final_c
      return results.output
    }
  })
}
const times = { single: [], singles: [], alone: [], onnxAtOnce: [], onnxInTurn: [] }
for (let round = -3; round < rounds; round++) {
  const measured = {
    single: await stepSingle(SINGLE_STEPS),
    singles: await stepSingles(),
    alone: await microseconds(200, async () => {
      for (let k = 0; k < 200; k++) await streams[0].step(input)
    }),
  }
  // The first rounds warm up.
  if (round >= 0) for (const name in measured) times[name].push(measured[name])
  for (const { stepPool, stepRows, times } of pools) {
    const [pool, rows] = [await stepPool(), await stepRows()]
    if (round < 0) continue
    times.pool.push(pool)
    times.rows.push(rows)
  }
}
// After the rounds of the pool, which its garbage would slow down.
const onnx = await openOnnxStreams()
const onnxAtOnce = () => microseconds(STREAMS, () => Promise.all(onnx.map((step) => step())))
const onnxInTurn = () =>
  microseconds(STREAMS, async () => {
    for (const step of onnx) await step()
  })
if (onnx !== undefined) {
  const theirs = await onnx[0]()
  const [ours] = [lstm.stream(params).stepSync(x).data]
  const difference = Math.max(...ours.map((value, k) => Math.abs(value - theirs.data[k])))
  if (!(difference < 1e-5)) throw new Error(`onnxruntime-node computes another network: ${difference}`)
}
for (let round = -1; onnx !== undefined && round < 5; round++) {
  const measured = { onnxAtOnce: await onnxAtOnce(), onnxInTurn: await onnxInTurn() }
  if (round >= 0) for (const name in measured) times[name].push(measured[name])
}
for (const { pool } of pools) pool.dispose()

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
  singlesUs: median(times.singles),
  pools: pools.map(({ precision, times: { pool, rows } }) => ({
    precision,
    poolUs: median(pool),
    rowsUs: median(rows),
    overSingles: median(times.singles) / median(pool),
    overSingle: median(times.single) / median(pool),
  })),
  ...(onnx !== undefined && {
    onnxAtOnceUs: median(times.onnxAtOnce),
    onnxInTurnUs: median(times.onnxInTurn),
    poolOverOnnx: Math.min(median(times.onnxAtOnce), median(times.onnxInTurn)) / median(pools[0].times.pool),
  }),
  addedUs: median(times.alone) - median(times.single),
  idleKiB,
}
backend.dispose()
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(result, undefined, 2)}\n`)
console.log(`${result.backend}; ${result.machineLoad.toFixed(1)} runnable processes per core before the end`)
console.log(`stepSync of one stream            ${result.singleUs.toFixed(1)} µs`)
console.log(`stepSync of ${STREAMS} streams in turn     ${result.singlesUs.toFixed(1)} µs`)
for (const { precision, poolUs, rowsUs, overSingles, overSingle } of result.pools) {
  console.log(
    `a step in a pool of ${STREAMS}, ${precision}`.padEnd(38) +
      `${poolUs.toFixed(1)} µs, of it the batched step ${rowsUs.toFixed(1)} µs: ${overSingles.toFixed(2)} × as many steps as stepSync of these streams in float32, ${overSingle.toFixed(2)} × as those of one`,
  )
}
if (onnx === undefined) console.log('onnxruntime-node                  is not installed')
else {
  console.log(
    `onnxruntime-node, all at once     ${result.onnxAtOnceUs.toFixed(1)} µs, in turn ${result.onnxInTurnUs.toFixed(1)} µs: the pool does ${result.poolOverOnnx.toFixed(1)} × as many steps as the faster way`,
  )
}
console.log(`added by a pool to one stream     ${result.addedUs.toFixed(0)} µs`)
console.log(`an idle stream                    ${idleKiB.toFixed(1)} KiB`)
