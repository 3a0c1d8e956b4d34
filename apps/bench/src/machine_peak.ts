import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { required } from '@cudnn-rnn/canonical/rules'
import type { MachinePeak } from './bench_report.js'
import type { ImplementationProcess } from './implementation_process.js'
import { spreadOf } from './statistics.js'

/** Large enough for the copies that libraries make of their operands not to count. */
const PRODUCT_SIZE = 2048
const PRODUCT_TIMES = 10
/** Who needs longer for one is not the fastest here. */
const SLOWEST_PRODUCT_MS = 1000
const TRIAL_SIZE = 256
const COPY_BYTES = 128 * 2 ** 20
const COPIES = 8

/** The better of two measurements, value by value: other work on the machine can only make one worse. */
export function betterPeak(first: MachinePeak, second: MachinePeak): MachinePeak {
  const product = first.gflops >= second.gflops ? first : second
  return { ...product, bandwidth: Math.max(first.bandwidth, second.bandwidth) }
}

/** Probes this machine: the best matrix product of any implementation, and copies through memory on all threads. */
export async function measurePeak(
  implementations: readonly (readonly [title: string, process: ImplementationProcess])[],
  threads: number,
): Promise<MachinePeak> {
  let best = { gflops: 0, productBy: 'none' }
  for (const [productBy, process] of implementations) {
    const trial = await process.request('product', { size: TRIAL_SIZE, times: 1 })
    if (trial.times === null || trial.times[0] * (PRODUCT_SIZE / TRIAL_SIZE) ** 3 > SLOWEST_PRODUCT_MS) continue
    const { times } = await process.request('product', { size: PRODUCT_SIZE, times: PRODUCT_TIMES })
    const gflops =
      (2 * PRODUCT_SIZE ** 3) /
      (Math.min(...required(times, 'an implementation that ran the trial runs the product')) * 1e6)
    if (gflops > best.gflops) best = { gflops, productBy }
  }
  return { ...best, bandwidth: await copyBandwidth(threads) }
}

/** GB/s read and written while every thread copies. */
async function copyBandwidth(threads: number): Promise<number> {
  const url = new URL('./bandwidth_worker.js', import.meta.url)
  const workerData = { bytes: COPY_BYTES, copies: COPIES }
  const workers = Array.from({ length: threads }, () => new Worker(url, { workerData }))
  await Promise.all(workers.map((worker) => once(worker, 'message')))
  const rates = await Promise.all(
    workers.map(async (worker) => {
      const answer = once(worker, 'message')
      worker.postMessage('go')
      const [times] = (await answer) as [number[]]
      return (2 * COPY_BYTES) / (spreadOf(times).median * 1e6)
    }),
  )
  return rates.reduce((sum, rate) => sum + rate, 0)
}
