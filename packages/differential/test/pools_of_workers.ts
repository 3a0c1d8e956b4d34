import { existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { CudnnLSTM, openWorkerPool, type WorkerLoss, type WorkerPool } from '@cudnn-rnn/models'
import type { Backend } from '@cudnn-rnn/ops'
import { BackendUnavailableError } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach } from 'vitest'
import type { StreamWorkerData } from './programs/stream_worker.js'

export const SIZES = { numLayers: 2, numUnits: 20, inputSize: 3 }
export const program = join(mkdtempSync(join(tmpdir(), 'cudnn-rnn-program-')), 'stream_worker.mjs')
export const frame = (start: number) => ({
  data: Float32Array.from({ length: 3 }, (_, k) => Math.sin(start + k)),
  shape: [3],
})
export const crash = (kind: 1000 | 2000) => ({ data: Float32Array.of(kind, 0, 0), shape: [3] })

/** The place at which this repository's addon was built; the bundled program is elsewhere. */
export function cpuAddon(): string {
  const folder = fileURLToPath(new URL('../../../native/cpu/prebuilds/', import.meta.url))
  const built = existsSync(folder) ? readdirSync(folder) : []
  const triple = built.find((name) => name.startsWith(`${process.platform}-${process.arch}`))
  return triple === undefined ? '' : join(folder, triple, 'cudnn_rnn_cpu.node')
}

export const env = { CUDNN_RNN_CPU_ADDON: cpuAddon(), ...process.env }

export interface ExecutorCase {
  readonly name: 'cpu' | 'reference'
  readonly weights?: 'int8'
  open(): Backend
}

export const cases: ExecutorCase[] = [{ name: 'reference', open: () => openReferenceBackend() }]
try {
  openCpuBackend().dispose()
  cases.push({ name: 'cpu', open: () => openCpuBackend({ threads: 1 }) })
  cases.push({ name: 'cpu', weights: 'int8', open: () => openCpuBackend({ threads: 1, weights: 'int8' }) })
} catch (error) {
  if (!(error instanceof BackendUnavailableError)) throw error
}

/** Pools, which are disposed with their executors after each test. */
export function usesPools() {
  const opened: { dispose(): void }[] = []
  afterEach(() => {
    for (const each of opened.splice(0)) each.dispose()
  })

  /** A model with parameters, and a pool of two workers that share them. */
  async function openPool({ name, weights, open }: ExecutorCase, options: { readonly maxQueued?: number } = {}) {
    const backend = open()
    const lstm = new CudnnLSTM(backend, SIZES)
    const params = lstm.createParams({ seed: 1 })
    const shared = await lstm.shareParams(params)
    const workerData: StreamWorkerData = {
      executor: name,
      sizes: SIZES,
      params: shared,
      maxStreams: 3,
      ...(weights && { weights }),
    }
    const losses: WorkerLoss[] = []
    let started = 0
    const pool = await openWorkerPool({
      workers: 2,
      start: () => {
        started++
        return new Worker(program, { env, workerData, stderr: true })
      },
      onWorkerLost: (loss) => losses.push(loss),
      ...options,
    })
    opened.push(pool, backend)
    return { lstm, params, pool, losses, started: () => started }
  }

  /** Resolves when all workers of the pool are ready again. */
  async function recovered(pool: WorkerPool): Promise<void> {
    while (pool.stats().workers.filter(({ state }) => state === 'ready').length < 2) {
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  return { opened, openPool, recovered }
}
