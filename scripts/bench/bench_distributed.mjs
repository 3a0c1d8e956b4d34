// Measures training over ranks (docs/bench/distributed.md) on one host, one thread a rank, a character LSTM 1 × 512 of
// 1,239,136 parameters, 32 rows a rank, 64 steps:
//   node scripts/bench/bench_distributed.mjs [--python FILE] [--rounds N] [--steps N] [--units N] [--json FILE] [--write FILE]
// - tokens per second of 1 and 2 ranks, with two processes that do not communicate as a control; rounds alternate
// - the same of PyTorch's DistributedDataParallel over Gloo, if --python names an interpreter with torch
// - the share of a step that collective calls take: the wait for the other rank, and the exchange
// - an all-reduce of 16 MB from JavaScript, over the same in C++, which mpicxx compiles
// - the time that a communicator of size 1 adds to a step
// - the steps of 1 to 4 ranks, and those that the cost model predicts from runs of one and two processes
// Build first: npm run build. Open MPI's mpirun must be installed.
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { fitNetwork, medianOfSlowest, reduceTime, relativeSteps, stepTime } from './bench_distributed/cost_model.mjs'
import { skewOfIndependent, waitsOf } from './bench_distributed/waits.mjs'
import { median } from './statistics.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'

ownTemporaryFolder()

const { values: options } = parseArgs({
  options: {
    python: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    steps: { type: 'string', default: '6' },
    units: { type: 'string', default: '512' },
    json: { type: 'string' },
    write: { type: 'string' },
  },
})
const [rounds, steps, units] = ['rounds', 'steps', 'units'].map((name) => Number(options[name]))
const TASK = { task: 'train', units, batch: 32, time: 64, steps, warmup: 2 }
const REDUCED = 16 * 2 ** 20
const SIZES = [4096, 65_536, 2 ** 20, 4_956_544, REDUCED]
const MODEL_BYTES = 4 * (96 * 64 + 4 * units * (64 + units + 2) + 96 * (units + 1))

const folder = tmpdir()
const path = (name) => fileURLToPath(new URL(name, import.meta.url))
const run = promisify(execFile)
const lineOf = ({ stdout }) => JSON.parse(stdout.trim().split('\n').at(-1))
const mpi = async (ranks, ...command) => {
  const given = ['--allow-run-as-root', '--oversubscribe', '--bind-to', 'none', '-n', String(ranks)]
  return lineOf(await run('mpirun', [...given, ...command]))
}
/** A rank has one core, on which threads of the garbage collector would wait for each other. */
const ONE_THREAD = ['--single-threaded-gc']
const node = (settings, flags = ONE_THREAD) => [
  ...[process.execPath, ...flags],
  ...[path('bench_distributed/rank.mjs'), JSON.stringify(settings)],
]
const alone = async (settings) => {
  const [command, ...rest] = node({ ...settings, engine: 'none' })
  return lineOf(await run(command, rest))
}
const ddp = async (ranks) => {
  const script = [path('bench_distributed/ddp.py'), JSON.stringify(TASK)]
  const launcher = ['-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', String(ranks)]
  return lineOf(await run(options.python, ranks === 1 ? script : [...launcher, ...script]))
}
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length

/** Runs of each kind, which alternate. */
async function alternate(kinds) {
  const results = Object.fromEntries(Object.keys(kinds).map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [name, once] of Object.entries(kinds)) results[name].push(await once())
  }
  return results
}

/** One or several processes at the same time that do not communicate: the slowest step. */
const control = async (processes) => {
  const all = await Promise.all(Array.from({ length: processes }, () => alone(TASK)))
  return {
    milliseconds: Math.max(...all.map((each) => each.milliseconds)),
    tokens: processes * all[0].tokens,
    processes: all.map(({ times }) => times),
  }
}

const runs = await alternate({
  one: () => mpi(1, ...node(TASK)),
  two: () => mpi(2, ...node(TASK)),
  twoParallelGc: () => mpi(2, ...node(TASK, [])),
  three: () => mpi(3, ...node(TASK)),
  four: () => mpi(4, ...node(TASK)),
  control: () => control(2),
  sizeOne: () => alone(TASK),
  none: () => alone({ ...TASK, isAlone: true }),
  ...(options.python && { ddpOne: () => ddp(1), ddpTwo: () => ddp(2) }),
})
const step = Object.fromEntries(
  Object.entries(runs).map(([name, all]) => [name, median(all.map((each) => each.milliseconds))]),
)
const speed = Object.fromEntries(Object.entries(runs).map(([name, all]) => [name, (1000 * all[0].tokens) / step[name]]))
/** The median of the ratios of rounds: what one round compares was measured side by side. */
const ratioOfRounds = (above, below) =>
  median(
    runs[above].map((each, round) => {
      const other = runs[below][round]
      return each.tokens / each.milliseconds / (other.tokens / other.milliseconds)
    }),
  )
/** Medians over the rounds, per step: milliseconds of the wait for the other rank and of the exchange, and their share. */
const waitsIn = (name) => {
  const rounds = runs[name].map(({ ranks, times }) => {
    const { skew, exchange } = waitsOf(ranks, steps)
    return { skew, exchange, share: (skew + exchange) / mean(times) }
  })
  return Object.fromEntries(Object.keys(rounds[0]).map((part) => [part, median(rounds.map((round) => round[part]))]))
}
const waits = waitsIn('two')
const waitsParallelGc = waitsIn('twoParallelGc')
const independentSkew = median(runs.control.map(({ processes }) => skewOfIndependent(processes)))

// All-reduce, in turns with the program in C++.
const native = join(folder, 'all_reduce')
const compiled = spawnSync('mpicxx', ['-O2', path('../../native/mpi/bench/all_reduce.cc'), '-o', native]).status === 0
if (!compiled) console.warn('mpicxx did not compile native/mpi/bench/all_reduce.cc: no comparison with C++')
const REDUCE_ROUNDS = 20
const reductions = await alternate({
  javaScript: () => mpi(2, ...node({ task: 'reduce', sizes: SIZES, rounds: REDUCE_ROUNDS })),
  ...(compiled && { native: () => mpi(2, native, String(REDUCE_ROUNDS), ...SIZES.map(String)) }),
})
const reduceOf = (name, bytes) => median(reductions[name].map((times) => times[bytes]))

const network = fitNetwork(SIZES.map((bytes) => ({ bytes, time: reduceOf('javaScript', bytes) })))
const cores = availableParallelism()
/** Fitted to one and two processes alone: the steps of 3 and 4 ranks check it. */
const model = {
  ...{ step: step.one, cores, network, bytes: MODEL_BYTES },
  contention: median(
    runs.control.map(({ processes }, round) => mean(processes.map(median)) / runs.one[round].milliseconds),
  ),
  spread: relativeSteps(runs.control.flatMap(({ processes }) => processes)),
}
const predictions = ['one', 'two', 'three', 'four'].map((name, index) => {
  const [predicted, measured] = [stepTime(model, index + 1), step[name]]
  return { ranks: index + 1, predicted, measured, error: Math.abs(predicted / measured - 1) }
})

/** Published figures: NVLink of an H200 900 GB/s in both directions, 80 % of one; a network of 100 Gb/s, 90 %. */
const NETWORKS = [
  { name: '8 × H200 over NVLink', ranks: 8, latency: 0.01, bandwidth: 0.8 * 450e6 },
  { name: '64 hosts over 100 Gb/s', ranks: 64, latency: 0.015, bandwidth: 0.9 * 12.5e6 },
].map((each) => ({ ...each, milliseconds: reduceTime(each, each.ranks, MODEL_BYTES) }))

const version = execFileSync('mpirun', ['--version'], { encoding: 'utf8' }).split('\n')[0]
const report = {
  date: new Date().toISOString().slice(0, 10),
  machine: `${cpus()[0]?.model ?? 'unknown'}, ${cores} cores, load ${loadavg()[0].toFixed(2)}, ${version}`,
  settings: { ...TASK, rounds },
  ...{ step, speed, waits, waitsParallelGc, independentSkew, model, predictions, networks: NETWORKS, runs, reductions },
}
if (options.json) writeFileSync(options.json, `${JSON.stringify(report, null, 1)}\n`)

const count = (value) => Math.round(value).toLocaleString('en-US')
const percent = (value) => `${(100 * value).toFixed(1)} %`
const shown = (milliseconds) => `${milliseconds.toFixed(1)} ms`
const rows = [
  ['1 rank', `${count(speed.one)} tokens/s, ${step.one.toFixed(1)} ms a step`, ''],
  ['2 ranks', `${count(speed.two)} tokens/s, ${step.two.toFixed(1)} ms a step`, ''],
  ['2 processes without communication', `${count(speed.control)} tokens/s`, ''],
  ['2 ranks over 1', ratioOfRounds('two', 'one').toFixed(2), '≥ 1.9'],
  ['2 ranks over the control', ratioOfRounds('two', 'control').toFixed(3), ''],
  ['share of a step in collective calls', percent(waits.share), '≤ 5 %'],
  ['of it the wait for the other rank, and the exchange', `${shown(waits.skew)}, ${shown(waits.exchange)}`, ''],
  ['wait of two processes with the step times of the control', shown(independentSkew), ''],
  [
    'with threads of the garbage collector: a step, wait, exchange, share',
    `${shown(step.twoParallelGc)}, ${shown(waitsParallelGc.skew)}, ${shown(waitsParallelGc.exchange)}, ${percent(waitsParallelGc.share)}`,
    '',
  ],
  ...(options.python
    ? [
        ['PyTorch DDP over Gloo, 1 and 2 ranks', `${count(speed.ddpOne)}, ${count(speed.ddpTwo)} tokens/s`, ''],
        ['PyTorch, 2 ranks over 1', ratioOfRounds('ddpTwo', 'ddpOne').toFixed(2), ''],
        ['2 ranks over PyTorch with 2', ratioOfRounds('two', 'ddpTwo').toFixed(2), '≥ 1.2'],
      ]
    : []),
  ...(compiled
    ? [
        [
          'all-reduce of 16 MB from JavaScript over C++',
          `${reduceOf('javaScript', REDUCED).toFixed(2)} / ${reduceOf('native', REDUCED).toFixed(2)} ms = ${(reduceOf('javaScript', REDUCED) / reduceOf('native', REDUCED)).toFixed(2)}`,
          '≤ 1.1',
        ],
      ]
    : []),
  ['a communicator of size 1 adds', percent(1 / ratioOfRounds('sizeOne', 'none') - 1), 'none measurable'],
  ['latency, bandwidth', `${(1000 * network.latency).toFixed(1)} µs, ${(network.bandwidth / 1e6).toFixed(2)} GB/s`, ''],
  [
    'contention; median of the slowest of 2, 3 and 4 steps, over that of one',
    [model.contention, ...[2, 3, 4].map((ranks) => medianOfSlowest(model.spread, ranks))]
      .map((factor) => factor.toFixed(3))
      .join(', '),
    '',
  ],
  ...predictions.map(({ ranks, predicted, measured, error }) => [
    `step of ${ranks} ${ranks === 1 ? 'rank' : 'ranks'}, predicted and measured`,
    `${predicted.toFixed(1)}, ${measured.toFixed(1)} ms: error ${percent(error)}`,
    ranks === 4 ? '≤ 20 %' : '',
  ]),
  ...NETWORKS.map(({ name, milliseconds }) => [
    `all-reduce of the model, ${name}, predicted`,
    `${milliseconds.toFixed(2)} ms`,
    '',
  ]),
]
const table = [
  `${report.date}, ${report.machine}. Medians of ${rounds} rounds of ${steps} steps; ratios are medians of the rounds' ratios.`,
  '',
  '| measure | value | goal |',
  '|---|---|---|',
  ...rows.map((cells) => `| ${cells.join(' | ')} |`),
].join('\n')
console.log(table)
if (options.write) {
  const page = readFileSync(options.write, 'utf8')
  const [begin, end] = ['<!-- results -->', '<!-- end of results -->']
  const [before, after] = [page.indexOf(begin) + begin.length, page.indexOf(end)]
  if (after < before) throw new Error(`${options.write} lacks the marks ${begin} and ${end}`)
  writeFileSync(options.write, `${page.slice(0, before)}\n\n${table}\n\n${page.slice(after)}`)
}
