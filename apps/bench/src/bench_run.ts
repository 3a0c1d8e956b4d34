import { availableParallelism, cpus, platform, release, totalmem } from 'node:os'
import { inspectBackends } from '@cudnn-rnn/rnn'
import { benchCases } from './bench_cases.js'
import type { BenchReport, ComparisonResult, ContestantReport } from './bench_report.js'
import { Burner } from './burner.js'
import { laneName } from './comparison.js'
import { runComparison } from './comparison_run.js'
import { ContestantPool } from './contestant_pool.js'
import type { ContestantProcess } from './contestant_process.js'
import { type Contestant, executorContestant, PEERS } from './contestant_table.js'
import { probeMachine } from './machine_peak.js'
import { measureMemory } from './memory_run.js'
import { installPeers } from './peer_packages.js'
import { judgeTargets } from './targets.js'
import { TimeBudget } from './time_budget.js'
import { sizesOf, type Workload } from './workload.js'

export interface BenchOptions {
  /** Our executors, best first; undefined for all that work here. */
  readonly executors: readonly string[] | undefined
  readonly threads: number
  /** Interpreter with PyTorch, TensorFlow or Keras. */
  readonly python: string | undefined
  readonly quick: boolean
  /** Pattern that the ids of comparisons have to match. */
  readonly only: RegExp | undefined
  /** Longest run of a cell, in milliseconds. */
  readonly limitMs: number
}

/** Large enough that the weights show, small enough for every contestant. */
const MEMORY_WORKLOAD: Workload = {
  cellMode: 'lstm',
  numLayers: 1,
  bidirectional: false,
  batch: 16,
  time: 70,
  inputSize: 512,
  numUnits: 512,
}

/** Runs the benchmark. `announce` hears what is going on, a line at a time. */
export async function runBench(options: BenchOptions, announce: (line: string) => void): Promise<BenchReport> {
  const { threads, quick, python } = options
  const rounds = quick ? 3 : 7
  const sliceMs = quick ? 30 : 100
  const reports = await inspectBackends({ threads })
  const names = options.executors ?? reports.filter(({ available }) => available).map(({ name }) => name)
  const executors = names.map(executorContestant)
  const peerProblem = installPeers(announce)
  const invited = [...executors, ...PEERS]
  const pool = new ContestantPool(invited, python)
  const burner = new Burner(availableParallelism())
  try {
    const absence = ({ language, kind }: Contestant) => {
      if (language === 'python' && python === undefined) return 'asked for by --python PATH'
      return language === 'node' && kind === 'peer' ? peerProblem : undefined
    }
    const contestants: ContestantReport[] = []
    const present: Contestant[] = []
    const processes: [string, ContestantProcess][] = []
    for (const contestant of invited) {
      const { name, title, kind } = contestant
      announce(`Starting ${title}`)
      const lane = { contestant: name, threads, weights: 'float32', pass: 'inference' } as const
      const process = absence(contestant) ?? (await pool.process(lane))
      if (typeof process === 'string') {
        contestants.push({ name, title, kind, version: undefined, detail: process, takesPart: false })
        continue
      }
      const { version, detail } = process
      contestants.push({ name, title, kind, version, detail, takesPart: true })
      present.push(contestant)
      processes.push([title, process])
    }

    announce('Probing the machine')
    const peak = await probeMachine(processes, threads)
    const cases = benchCases({
      executors: present.filter(({ kind }) => kind === 'executor'),
      peers: present.filter(({ kind }) => kind === 'peer'),
      threads,
      quick,
    }).filter(({ id }) => options.only?.test(id) ?? true)
    const comparisons: ComparisonResult[] = []
    const context = { pool, burner, budget: new TimeBudget(options.limitMs), rounds, sliceMs }
    for (const [index, comparison] of cases.entries()) {
      const result = await runComparison(comparison, context)
      comparisons.push(result)
      announce(`${index + 1}/${cases.length} ${comparison.id}: ${progressOf(result)}`)
    }
    announce('Measuring memory')
    const memory = await measureMemory(MEMORY_WORKLOAD, present, pool, threads)
    const isPeer = (name: string) => PEERS.some((peer) => peer.name === name)
    return {
      date: new Date().toISOString(),
      machine: {
        processor: `${cpus()[0]?.model.trim() ?? 'unknown'}, ${cpus().length} threads`,
        system: `${platform()} ${release()}`,
        node: process.version,
        memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
      },
      settings: { threads, quick, rounds, sliceMs },
      contestants,
      peak,
      comparisons,
      memory: { workload: `LSTM, ${sizesOf(MEMORY_WORKLOAD)}`, results: memory },
      targets: judgeTargets(comparisons, executors[0]!.name, isPeer),
    }
  } finally {
    await pool.stop()
    await burner.stop()
  }
}

/** "cpu 1.23 ms, onnxruntime 1.50 ms" */
function progressOf({ section, results }: ComparisonResult): string {
  return results
    .map(({ lane, outcome }) => {
      const name = laneName(lane, section)
      if (outcome.status === 'measured') return `${name} ${outcome.spread.median.toPrecision(3)} ms`
      return outcome.status === 'differs' ? `${name} differs` : `${name} ${outcome.status}`
    })
    .join(', ')
}
