// One process of scripts/bench/bench_distributed.mjs: node rank.mjs '{"task":"train",…}'. The first rank prints one line of JSON.
import {
  cudnnLSTM,
  Dataset,
  dense,
  embedding,
  openBackend,
  openCommunicator,
  sequential,
} from '../../../packages/rnn/dist/index.js'
import { median } from '../statistics.mjs'
import { callsOfSteps, tracedCommunicator } from './traced_communicator.mjs'

const settings = JSON.parse(process.argv[2])
const VOCABULARY = 96

/** Milliseconds of an all-reduce of each size, begun by all ranks at once. */
async function reduce(world, { sizes, rounds }) {
  const times = {}
  for (const bytes of sizes) {
    const data = new Float32Array(bytes / 4).fill(1e-20)
    const all = []
    for (let round = -2; round < rounds; round++) {
      await world.barrier()
      const begin = performance.now()
      await world.allReduce(data)
      if (round >= 0) all.push(performance.now() - begin)
    }
    times[bytes] = median(all)
  }
  return times
}

/** A character LSTM with batches of `batch` rows for each rank: milliseconds of its steps, and the collective calls of each rank. */
async function train(world, { units, batch, time, steps, warmup, isAlone }) {
  const backend = await openBackend('cpu', { threads: 1 })
  const layers = [
    embedding({ size: VOCABULARY, units: 64 }),
    cudnnLSTM({ numUnits: units }),
    dense({ units: VOCABULARY }),
  ]
  const model = sequential(backend, layers, { seed: 1 })
  const rows = batch * world.size
  const ids = (from) => ({
    data: Int32Array.from({ length: time * rows }, (_, k) => (7 * k + from) % VOCABULARY),
    shape: [time, rows],
  })
  const data = Dataset.fromArray([{ input: ids(0), labels: ids(1) }]).repeat(steps + warmup)
  const ends = []
  const { communicator, calls } = tracedCommunicator(world)
  await model.fit(data, {
    loss: 'softmax_cross_entropy',
    maxSteps: steps + warmup,
    clipNorm: 1,
    // A communicator of size 1 is compared with none.
    ...(isAlone !== true && { communicator }),
    onStep: () => void ends.push(performance.now()),
  })
  model.dispose()
  backend.dispose()
  const times = ends
    .slice(1)
    .map((end, k) => end - ends[k])
    .slice(warmup - 1)
  const own = new TextEncoder().encode(JSON.stringify(callsOfSteps(calls, steps)))
  const ranks = (await world.allGather(own)).map((bytes) => JSON.parse(new TextDecoder().decode(bytes)))
  return { milliseconds: median(times), times, tokens: time * rows, ranks }
}

const world = await openCommunicator(settings.engine ?? 'auto')
const result = await { reduce, train }[settings.task](world, settings)
if (world.rank === 0) process.stdout.write(`${JSON.stringify(result)}\n`)
await world.dispose()
