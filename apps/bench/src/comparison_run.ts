import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { thrownMessage } from '@cudnn-rnn/canonical/rules'
import { type ComparableResults, comparableResults, LARGEST_DIFFERENCE, largestDifference } from './agreement.js'
import type { Comparison, ComparisonResult, Outcome, Series, SeriesResult } from './comparison.js'
import { type ImplementationPool, processKey } from './implementation_pool.js'
import type { ImplementationProcess } from './implementation_process.js'
import type { Task } from './implementation_protocol.js'
import { makeOperands } from './operands.js'
import { grouped, type LayoutName, parameterLayout } from './parameter_layouts.js'
import { spreadOf } from './statistics.js'
import { withTemporaryFolder } from './temporary_folder.js'
import { readTensorFile, type TensorFile, writeTensorFile } from './tensor_file.js'
import type { TimeBudget } from './time_budget.js'
import { type Workload, workloadDescriptor, workloadFlops } from './workload.js'

/** The part of an implementation's process that a comparison uses. */
type RequestHandler = Pick<ImplementationProcess, 'request'>

/** State that all comparisons share. */
export interface BenchContext {
  readonly pool: Pick<ImplementationPool, 'folder' | 'implementation' | 'discard'> & {
    process(series: Series): Promise<RequestHandler | string>
  }
  readonly budget: TimeBudget
  /** Turns that every series takes. */
  readonly rounds: number
  /** Length of a turn in milliseconds; a turn has at least one run. */
  readonly sliceMs: number
}

/** Between turns, so that threads of the last implementation that still spin go to sleep. */
const SETTLE_MS = 20

const SEED = 1

/** A series that is ready to take turns. */
interface RunningSeries {
  readonly series: Series
  readonly process: RequestHandler
  /** The budget's estimate of the speed of this series. */
  readonly paceKey: string
  readonly flops: number
  readonly firstMs: number
  readonly difference: number | undefined
  readonly times: number[]
  /** The error that ended the turns of this series. */
  failure?: string
}

/** Loads every series, compares their results, and times them in turns. */
export async function runComparison(comparison: Comparison, context: BenchContext): Promise<ComparisonResult> {
  return withTemporaryFolder(join(context.pool.folder, 'comparison-'), async (folder) => {
    const { id, workload } = comparison
    const prepared = await prepareSeries(comparison, context, taskFiles(workload, folder), join(folder, 'results'))
    const running = prepared.filter((entry): entry is RunningSeries => 'process' in entry)
    for (let round = 0; round < context.rounds; round++) await takeTurns(running, round, context)
    for (const entry of running) await attempt(entry, context, () => entry.process.request('release', {}))
    const results = prepared.map((entry): SeriesResult => {
      if ('outcome' in entry) return entry
      const { series, times, difference, failure } = entry
      if (failure !== undefined) return { series, outcome: { status: 'failed', reason: failure } }
      return { series, outcome: { status: 'measured', spread: spreadOf(times), difference } }
    })
    return { id, workload, results }
  })
}

/** Makes the operands and writes them once for every layout that is requested. */
function taskFiles(workload: Workload, folder: string): (layout: LayoutName, pass: Series['pass']) => Task {
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

async function prepareSeries(
  { workload, seriesList }: Comparison,
  { pool, budget }: BenchContext,
  taskFor: ReturnType<typeof taskFiles>,
  resultPath: string,
): Promise<(RunningSeries | SeriesResult)[]> {
  const prepared: (RunningSeries | SeriesResult)[] = []
  let base: ComparableResults | undefined

  const prepare = async (series: Series): Promise<RunningSeries | SeriesResult> => {
    const ended = (outcome: Outcome): SeriesResult => ({ series, outcome })
    const flops = workloadFlops(workload, series.pass)
    const paceKey = `${processKey(series)}/${series.pass}`
    const refusal = budget.refusal(paceKey, flops)
    if (refusal !== undefined) return ended({ status: 'skipped', reason: refusal })
    const process = await pool.process(series)
    if (typeof process === 'string') return ended({ status: 'skipped', reason: process })
    const implementation = pool.implementation(series.implementation)
    try {
      const { firstMs } = await process.request('prepare', { task: taskFor(implementation.layout, series.pass) })
      budget.note(paceKey, flops, firstMs)
      const { file } = await process.request('results', { path: resultPath })
      const results = comparableResults(implementation, workload, readTensorFile(file))
      const difference = base === undefined ? undefined : largestDifference(base, results)
      base ??= results
      // Rounded factors are another function; how far they may be off is a matter for the executor's own tests.
      if (difference !== undefined && !(difference <= LARGEST_DIFFERENCE) && series.precision === 'float32') {
        return ended({ status: 'differs', difference })
      }
      return { series, process, paceKey, flops, firstMs, difference, times: [] }
    } catch (error) {
      await pool.discard(series)
      return ended({ status: 'failed', reason: messageOf(error) })
    }
  }

  for (const series of seriesList) prepared.push(await prepare(series))
  return prepared
}

async function takeTurns(seriesList: readonly RunningSeries[], round: number, context: BenchContext): Promise<void> {
  const { budget, sliceMs } = context
  for (const index of turnOrder(seriesList.length, round)) {
    const entry = seriesList[index]
    const { process, paceKey, flops, firstMs, times } = entry
    await sleep(SETTLE_MS)
    // The others have emptied the caches; a run as long as a turn needs no second one to fill them.
    const warmUp = (times.at(-1) ?? firstMs) < sliceMs
    await attempt(entry, context, async () => {
      times.push(...(await process.request('run', { sliceMs, warmUp })).times)
      budget.note(paceKey, flops, Math.min(...times))
    })
  }
}

/** Sends a request to the process of a series, unless it failed before; a failure costs this series, not the benchmark. */
async function attempt(entry: RunningSeries, { pool }: BenchContext, request: () => Promise<unknown>): Promise<void> {
  if (entry.failure !== undefined) return
  try {
    await request()
  } catch (error) {
    entry.failure = messageOf(error)
    await pool.discard(entry.series)
  }
}

function messageOf(error: unknown): string {
  return thrownMessage(error)
}

/**
 * The order of `count` series in a round. In 2·count rounds, count of them for an even number, each series has every place
 * and follows every other one equally often: the threads of the one before may still spin, and it leaves the caches as it
 * used them. A balanced Latin square: Williams 1949, "Experimental designs balanced for the estimation of residual effects of
 * treatments" (https://doi.org/10.1071/CH9490149).
 */
export function turnOrder(count: number, round: number): number[] {
  // 0, count - 1, 1, count - 2, …: all differences between neighbors occur.
  const order = Array.from({ length: count }, (_, turn) => (turn % 2 === 0 ? turn / 2 : count - (turn + 1) / 2))
  const shifted = order.map((place) => (place + round) % count)
  const isMirrored = count % 2 === 1 && Math.floor(round / count) % 2 === 1
  return isMirrored ? shifted.reverse() : shifted
}
