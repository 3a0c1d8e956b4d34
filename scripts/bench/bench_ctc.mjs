// Compares the CTC loss of the cpu executor, forward and backward, with PyTorch's on the CPU, in float32:
//   node scripts/bench/bench_ctc.mjs --python PATH [--threads N] [--rounds N]
// Both compute the same loss of T 200, B 32, K 80 with 20, 50 and 90 labels a row. Rounds alternate, so that both meet the
// same load; the figures are medians over all repeats. Build first: npm run build.
import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openCpuBackend } from '../../packages/cpu/dist/index.js'
import { ctcLoss } from '../../packages/train/dist/ctc.js'
import { median } from './statistics.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'

ownTemporaryFolder()

const [T, B, K] = [200, 32, 80]
const REPEATS = 30

const { values: options } = parseArgs({
  options: {
    python: { type: 'string', default: 'python3' },
    threads: { type: 'string', default: String(availableParallelism()) },
    rounds: { type: 'string', default: '3' },
  },
})
const threads = Number(options.threads)
const script = fileURLToPath(new URL('../../apps/bench/python/ctc_loss.py', import.meta.url))

async function ours(S) {
  const backend = openCpuBackend({ threads })
  const data = Float32Array.from({ length: T * B * K }, (_, n) => 2 * Math.sin(1.3 * (n + 1)))
  const logits = backend.tensor({ data, shape: [T, B, K] })
  const labels = Array.from({ length: B }, (_, b) =>
    Array.from({ length: S }, (_, s) => (7 * b + 3 * s + s * s) % (K - 1)),
  )
  const step = async () => {
    const result = await ctcLoss(backend, { logits, labels })
    const { data } = await result.loss.read()
    for (const tensor of [result.loss, result.rowLosses, result.logitsGradient]) tensor.dispose()
    return data[0]
  }
  for (let k = 0; k < 3; k++) await step()
  const times = []
  let loss
  for (let k = 0; k < REPEATS; k++) {
    const before = performance.now()
    loss = await step()
    times.push(performance.now() - before)
  }
  const { reason } = backend
  backend.dispose()
  return { times, loss, reason }
}

const torch = (S) =>
  JSON.parse(
    execFileSync(options.python, [script, ...[T, B, K, S, threads, REPEATS].map(String)], { encoding: 'utf8' }),
  )

console.log(`T ${T}, B ${B}, K ${K}, float32, ${threads} threads, medians in ms`)
console.log('labels   cpu   PyTorch   ratio   losses')
for (const S of [20, 50, 90]) {
  const times = { ours: [], torch: [] }
  let [one, other] = [undefined, undefined]
  for (let round = 0; round < Number(options.rounds); round++) {
    one = await ours(S)
    other = torch(S)
    times.ours.push(...one.times)
    times.torch.push(...other.times)
  }
  const [a, b] = [median(times.ours), median(times.torch)]
  console.log(
    `${String(S).padEnd(6)} ${a.toFixed(2).padStart(6)} ${b.toFixed(2).padStart(8)} ${(a / b).toFixed(2).padStart(8)}   ${one.loss.toFixed(3)} ${other.loss.toFixed(3)}`,
  )
}
