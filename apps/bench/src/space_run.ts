import { availableParallelism, loadavg } from 'node:os'
import type { InstructionSet } from '@cudnn-rnn/rnn/executors'
import { machineDescription, runCases, startCandidates } from './bench_run.js'
import { codedError } from './coded_error.js'
import { ImplementationPool } from './implementation_pool.js'
import { BASELINES, executorImplementation } from './implementation_table.js'
import { spaceCases } from './space_cases.js'
import type { SpaceReport } from './space_report.js'
import { TimeBudget } from './time_budget.js'

export interface SpaceOptions {
  readonly executor: string
  readonly instructionSet?: InstructionSet | undefined
  readonly python?: string | undefined
  readonly seed: number
  readonly drawn: number
  readonly full: boolean
  readonly only?: RegExp | undefined
}

/** The others are slower on every cell of the table. */
const PEERS = ['onnxruntime', 'onednn', 'pytorch']

const ROUNDS = 3
const SLICE_MS = 30
const LONGEST_RUN_MS = 4000

/**
 * Times networks all over the space of sizes beside the fastest other libraries.
 *
 * @throws Error `ERR_NO_EXECUTOR` if the executor does not work
 */
export async function runSpace(options: SpaceOptions, announce: (line: string) => void): Promise<SpaceReport> {
  const { executor, seed, only, python, instructionSet } = options
  const [loadBefore = 0] = loadavg()
  const threads = availableParallelism() > 1 ? [1, 2] : [1]
  const candidates = [executorImplementation(executor), ...BASELINES.filter(({ name }) => PEERS.includes(name))]
  const pool = new ImplementationPool(candidates, { python, instructionSet })
  try {
    const conditions = { python, instructionSet, threads: Math.max(...threads) }
    const implementations = await startCandidates(candidates, pool, conditions, announce)
    const present = candidates.filter((_, index) => implementations[index].participates)
    if (!implementations[0].participates) {
      const reason = implementations[0].detail
      throw codedError('ERR_NO_EXECUTOR', `Cannot run the benchmark as ${executor} must work here: ${reason}`)
    }
    const cases = spaceCases({ ...options, implementations: present, threads }).filter(
      ({ id }) => only?.test(id) ?? true,
    )
    const context = {
      pool,
      loadGenerator: { running: false },
      rounds: ROUNDS,
      sliceMs: SLICE_MS,
      budget: new TimeBudget(LONGEST_RUN_MS),
    }
    const comparisons = await runCases(cases, context, announce)
    return {
      date: new Date().toISOString(),
      machine: machineDescription(),
      loadBefore,
      seed,
      implementations,
      comparisons,
    }
  } finally {
    await pool.stop()
  }
}
