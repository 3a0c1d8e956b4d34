import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ComparableResults, comparableResults, LARGEST_DIFFERENCE, largestDifference } from './agreement.js'
import type { ComparisonResult, LaneResult, Outcome } from './bench_report.js'
import type { Comparison, Lane } from './comparison.js'
import { type ImplementationPool, processKey } from './implementation_pool.js'
import type { ImplementationProcess } from './implementation_process.js'
import type { Task } from './implementation_protocol.js'
import type { LoadGenerator } from './load_generator.js'
import { makeOperands } from './operands.js'
import { grouped, type LayoutName, parameterLayout } from './parameter_layouts.js'
import { spreadOf } from './statistics.js'
import { readTensorFile, type TensorFile, writeTensorFile } from './tensor_file.js'
import type { TimeBudget } from './time_budget.js'
import { type Workload, workloadDescriptor, workloadFlops } from './workload.js'

/** An implementation that can be asked. */
type Playing = Pick<ImplementationProcess, 'request'>

/** State that all comparisons share. */
export interface BenchContext {
  readonly pool: Pick<ImplementationPool, 'implementation' | 'discard'> & {
    process(lane: Lane): Promise<Playing | string>
  }
  readonly loadGenerator: Pick<LoadGenerator, 'running'>
  readonly budget: TimeBudget
  /** Turns that every lane takes. */
  readonly rounds: number
  /** Length of a turn in milliseconds; a turn has at least one run. */
  readonly sliceMs: number
}

/** Between turns, so that threads of the last implementation that still spin go to sleep, and the load generator gets going. */
const SETTLE_MS = 20

const SEED = 1

/** A lane that is ready to take turns. */
interface RunningLane {
  readonly lane: Lane
  readonly process: Playing
  /** The budget's estimate of this lane's speed. */
  readonly paceKey: string
  readonly flops: number
  readonly firstMs: number
  readonly difference: number | undefined
  readonly times: number[]
  /** The error that ended the turns of this lane. */
  failure?: string
}

/** Loads every lane, compares their results, and times them in turns. */
export async function runComparison(comparison: Comparison, context: BenchContext): Promise<ComparisonResult> {
  const folder = mkdtempSync(join(tmpdir(), 'cudnn-rnn-bench-'))
  try {
    const { id, section, workload } = comparison
    const prepared = await prepareLanes(comparison, context, taskFiles(workload, folder), join(folder, 'results'))
    const running = prepared.filter((entry): entry is RunningLane => 'process' in entry)
    for (let round = 0; round < context.rounds; round++) await takeTurns(running, round, context)
    for (const entry of running) await attempt(entry, context, () => entry.process.request('release', {}))
    const results = prepared.map((entry): LaneResult => {
      if ('outcome' in entry) return entry
      const { lane, times, difference, failure } = entry
      if (failure !== undefined) return { lane, outcome: { status: 'failed', reason: failure } }
      return { lane, outcome: { status: 'measured', spread: spreadOf(times), difference } }
    })
    return { id, section, workload, flops: workloadFlops(workload, comparison.lanes[0].pass), results }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Makes the operands and writes them once for every layout that is requested. */
export function taskFiles(workload: Workload, folder: string): (layout: LayoutName, pass: Lane['pass']) => Task {
  const { canonical, input, outputGradient } = makeOperands(workload, SEED)
  const operands = writeTensorFile(join(folder, 'operands'), { input, outputGradient })
  const written = new Map<LayoutName, TensorFile>()
  return (layout, pass) => {
    let parameters = written.get(layout)
    if (parameters === undefined) {
      const groups = parameterLayout(layout).fromCanonical(workloadDescriptor(workload), canonical)
      parameters = writeTensorFile(join(folder, layout), grouped(groups))
      written.set(layout, parameters)
    }
    return { workload, pass, parameters, operands }
  }
}

async function prepareLanes(
  { workload, lanes }: Comparison,
  { pool, budget }: BenchContext,
  taskFor: ReturnType<typeof taskFiles>,
  resultPath: string,
): Promise<(RunningLane | LaneResult)[]> {
  const prepared: (RunningLane | LaneResult)[] = []
  const loaded = new Map<string, RunningLane | LaneResult>()
  let base: ComparableResults | undefined

  const prepare = async (lane: Lane): Promise<RunningLane | LaneResult> => {
    const ended = (outcome: Outcome): LaneResult => ({ lane, outcome })
    const flops = workloadFlops(workload, lane.pass)
    const paceKey = `${processKey(lane)}/${lane.pass}`
    const refusal = budget.refusal(paceKey, flops)
    if (refusal !== undefined) return ended({ status: 'skipped', reason: refusal })
    const process = await pool.process(lane)
    if (typeof process === 'string') return ended({ status: 'skipped', reason: process })
    const implementation = pool.implementation(lane.implementation)
    try {
      const { firstMs } = await process.request('prepare', { task: taskFor(implementation.layout, lane.pass) })
      budget.note(paceKey, flops, firstMs)
      const { file } = await process.request('results', { path: resultPath })
      const results = comparableResults(implementation, workload, readTensorFile(file))
      const difference = base === undefined ? undefined : largestDifference(base, results)
      base ??= results
      // Smaller weights are another function; how far they may be off is a matter for the executor's own tests.
      if (difference !== undefined && !(difference <= LARGEST_DIFFERENCE) && lane.weights === 'float32') {
        return ended({ status: 'differs', difference })
      }
      return { lane, process, paceKey, flops, firstMs, difference, times: [] }
    } catch (error) {
      await pool.discard(lane)
      return ended({ status: 'failed', reason: messageOf(error) })
    }
  }

  for (const lane of lanes) {
    const key = processKey(lane)
    const same = loaded.get(key)
    const entry = same === undefined ? await prepare(lane) : sameTask(same, lane)
    loaded.set(key, entry)
    prepared.push(entry)
  }
  return prepared
}

/** A lane whose process has its task already. */
function sameTask(entry: RunningLane | LaneResult, lane: Lane): RunningLane | LaneResult {
  return 'outcome' in entry ? { lane, outcome: entry.outcome } : { ...entry, lane, times: [] }
}

/** One turn of every lane; who begins changes from round to round. */
async function takeTurns(lanes: readonly RunningLane[], round: number, context: BenchContext): Promise<void> {
  const { loadGenerator, budget, sliceMs } = context
  for (let turn = 0; turn < lanes.length; turn++) {
    const entry = lanes[(turn + round) % lanes.length]
    const { lane, process, paceKey, flops, firstMs, times } = entry
    loadGenerator.running = lane.busy
    await sleep(SETTLE_MS)
    // The others have emptied the caches; a run as long as a turn needs no second one to fill them.
    const warmUp = (times.at(-1) ?? firstMs) < sliceMs
    await attempt(entry, context, async () => {
      times.push(...(await process.request('run', { sliceMs, warmUp })).times)
      budget.note(paceKey, flops, Math.min(...times))
    })
    loadGenerator.running = false
  }
}

/** Sends a request to a lane's process, unless it failed before; a failure costs this lane, not the benchmark. */
async function attempt(entry: RunningLane, { pool }: BenchContext, ask: () => Promise<unknown>): Promise<void> {
  if (entry.failure !== undefined) return
  try {
    await ask()
  } catch (error) {
    entry.failure = messageOf(error)
    await pool.discard(entry.lane)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
