// Compares TensorFlow's cells on the cpu executor, in float32 with inputs of H columns, with
//   - PyTorch's scripted LayerNormLSTMCell (benchmarks/fastrnns/custom_lstms.py), against LayerNormBasicLSTMCell;
//   - TensorFlow's own operations, against the cells of their names, and an LSTM written by hand against one written by hand.
//   node scripts/bench/bench_cells.mjs --python PATH [--baseline pytorch|tensorflow]… [--only CASE]… [--training true|false] [--batch N]…
//     [--threads N] [--seconds S] [--json FILE]
// The two take turns of half a second in rounds until each has had S seconds; the figures are medians over all repeats.
// Build first: npm run build. Results: docs/bench/tensorflow_cells.md.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  CudnnCompatibleLSTMCell,
  dynamicRnn,
  LayerNormBasicLSTMCell,
  LSTMBlockCell,
  LSTMBlockFusedCell,
  LSTMCell,
} from '../../packages/cells/dist/index.js'
import { openCpuBackend } from '../../packages/cpu/dist/index.js'
import { HandWrittenLSTM } from './bench_cells/hand_written_lstm.mjs'
import { median } from './statistics.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'

ownTemporaryFolder()

const [T, H] = [70, 512]
const TURN_MS = 500
const CASES = {
  pytorch: { LayerNormBasicLSTMCell: () => new LayerNormBasicLSTMCell(H) },
  tensorflow: {
    LSTMCell: () => new LSTMCell(H),
    LSTMBlockCell: () => new LSTMBlockCell(H),
    CudnnCompatibleLSTMCell: () => new CudnnCompatibleLSTMCell(H),
    LSTMBlockFusedCell: () => new LSTMBlockFusedCell(H),
    'hand-written': () => new HandWrittenLSTM(H),
  },
}

const { values: options } = parseArgs({
  options: {
    python: { type: 'string', default: 'python3' },
    baseline: { type: 'string', multiple: true, default: Object.keys(CASES) },
    only: { type: 'string', multiple: true },
    training: { type: 'string' },
    batch: { type: 'string', multiple: true },
    threads: { type: 'string', default: String(availableParallelism()) },
    seconds: { type: 'string', default: '2' },
    json: { type: 'string' },
  },
})
const threads = Number(options.threads)
const script = fileURLToPath(new URL('../../apps/bench/python/cells.py', import.meta.url))

/** The same as in cells.py, so that both compute the same. */
const sine = (shape, scale) => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, n) => scale * Math.sin(1.3 * (n + 1))),
  shape,
})

function openBaseline(name) {
  const child = spawn(options.python, [script, name, String(threads)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, OMP_NUM_THREADS: String(threads) },
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async run(request) {
      child.stdin.write(`${JSON.stringify(request)}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error(`${name} ended with status ${child.exitCode}`)
      return JSON.parse(value)
    },
    close: () => child.stdin.end(),
  }
}

/** One run of a cell or fused layer, and the mean square of its outputs. */
function runnerOf(make, B, training, backend) {
  const cell = make()
  cell.build(H)
  cell.setVariables({ kernel: sine([2 * H, 4 * H], 0.04) })
  const inputs = sine([T, B, H], 1)
  const seed = sine([T, B, H], 0.1)
  const isLayer = cell instanceof LSTMBlockFusedCell
  return () => {
    const common = { training, backend }
    const { outputs, tape } = isLayer
      ? cell.call(inputs, common)
      : dynamicRnn(cell, inputs, { ...common, timeMajor: true })
    tape?.gradients({ outputs: seed })
    return outputs.data
  }
}

const meanSquare = (values) => values.reduce((sum, value) => sum + value * value, 0) / values.length

async function compare(baseline, name, B, training) {
  const request = { case: name, B, T, H, training }
  const first = await baseline.run({ ...request, repeats: 1 })
  // Opened when the baseline is ready: the pool measures how fast its threads meet, which a busy machine would falsify.
  const backend = openCpuBackend({ threads })
  const run = runnerOf(CASES[baseline.name][name], B, training, backend)
  for (let k = 0; k < 20; k++) run()
  const times = { ours: [], baseline: [] }
  let check
  const turns = Math.max(1, Math.round((1000 * Number(options.seconds)) / TURN_MS))
  for (let turn = 0; turn < turns; turn++) {
    run() // the baseline has evicted our data from the caches
    for (const until = performance.now() + TURN_MS; performance.now() < until; ) {
      const before = performance.now()
      check = run()
      times.ours.push(performance.now() - before)
    }
    const repeats = Math.max(1, Math.round(TURN_MS / first.times[0]))
    times.baseline.push(...(await baseline.run({ ...request, repeats })).times)
  }
  backend.dispose()
  const [ours, theirs] = [median(times.ours), median(times.baseline)]
  return {
    name,
    B,
    training,
    ours,
    baseline: theirs,
    runs: [times.ours.length, times.baseline.length],
    checks: [meanSquare(check), first.check],
  }
}

const results = {}
const opened = openCpuBackend({ threads })
console.log(`${opened.reason}; T ${T}, H ${H}, medians in ms`)
opened.dispose()
for (const name of options.baseline) {
  const baseline = { name, ...openBaseline(name) }
  const batches = options.batch?.map(Number) ?? (name === 'pytorch' ? [1, 16] : [1])
  console.log(
    `\n${'cell'.padEnd(24)} ${'B'.padStart(3)}  pass       ${'ours'.padStart(8)} ${name.padStart(11)}   ratio  mean squares`,
  )
  results[name] = []
  for (const cell of Object.keys(CASES[name])) {
    if (options.only !== undefined && !options.only.includes(cell)) continue
    for (const B of batches) {
      for (const training of [false, true]) {
        if (options.training !== undefined && options.training !== String(training)) continue
        const result = await compare(baseline, cell, B, training)
        results[name].push(result)
        const pass = training ? 'training ' : 'inference'
        const [own, other] = [result.ours, result.baseline].map((ms) => ms.toFixed(2))
        const ratio = (result.ours / result.baseline).toFixed(2)
        console.log(
          `${cell.padEnd(24)} ${String(B).padStart(3)}  ${pass}  ${own.padStart(8)} ${other.padStart(11)} ${ratio.padStart(7)}  ${result.checks.map((check) => check.toPrecision(5)).join(' ')}`,
        )
      }
    }
  }
  baseline.close()
}
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 1)}\n`)
