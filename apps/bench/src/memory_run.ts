import { join } from 'node:path'
import type { MemoryResult } from './bench_report.js'
import { taskFiles } from './comparison_run.js'
import type { ImplementationPool } from './implementation_pool.js'
import type { Implementation } from './implementation_table.js'
import { withTemporaryFolder } from './temporary_folder.js'
import type { Workload } from './workload.js'

/** Runs of a workload before its peak is read: enough for a collector or an arena to reach its size. */
const RUNS_MS = 1000

/** Measures the memory that a workload takes in each implementation, each time in a new process. */
export async function measureMemory(
  workload: Workload,
  implementations: readonly Implementation[],
  pool: ImplementationPool,
  threads: number,
): Promise<MemoryResult[]> {
  return withTemporaryFolder(join(pool.folder, 'memory-'), async (folder) => {
    const taskFor = taskFiles(workload, folder)
    const results: MemoryResult[] = []
    for (const implementation of implementations) {
      for (const pass of ['inference', 'training'] as const) {
        if (implementation.refusal(workload, pass) !== undefined) continue
        const series = { implementation: implementation.name, threads, weights: 'float32', pass } as const
        const process = await pool.startFresh(series)
        if (typeof process === 'string') continue
        try {
          const { resident } = await process.request('memory', {})
          await process.request('prepare', { task: taskFor(implementation.layout, pass) })
          await process.request('run', { sliceMs: RUNS_MS, warmUp: false })
          const { peak } = await process.request('memory', {})
          results.push({ implementation: implementation.name, pass, resident, peak })
        } finally {
          process.stop()
        }
      }
    }
    return results
  })
}
