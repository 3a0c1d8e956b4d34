import { afterEach, vi } from 'vitest'
import { openWorkerPool, streamPoolOf, type WorkerPool } from '../../src/index.js'
import type { WorkerPoolOptions } from '../../src/threads/worker_pool.js'
import { type RowSum, SummingRows } from '../streams/summing_rows.js'
import { LinkedThread } from './linked_thread.js'

/** Pools of workers in this thread, each with a pool of two streams, which are disposed after each test. */
export function usesWorkerPools() {
  const opened: WorkerPool<RowSum>[] = []

  afterEach(() => {
    vi.useRealTimers()
    for (const pool of opened.splice(0)) pool.dispose()
  })

  async function openPool(options: Partial<WorkerPoolOptions> = {}, rows: object = {}) {
    const threads: LinkedThread[] = []
    const networks: SummingRows[] = []
    const start = () => {
      const network = new SummingRows(rows)
      const thread = new LinkedThread().serve(streamPoolOf<RowSum>(network, { maxStreams: 2 }))
      networks.push(network)
      threads.push(thread)
      return thread
    }
    const pool = await openWorkerPool<RowSum>({ workers: 2, start, ...options })
    opened.push(pool)
    return { pool, threads, networks, start }
  }

  return { opened, openPool }
}
