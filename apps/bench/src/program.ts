import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { numberOfText, thrownMessage } from '@cudnn-rnn/canonical/rules'
import { INSTRUCTION_SETS, type InstructionSet } from '@cudnn-rnn/rnn/executors'
import { tableText } from '@cudnn-rnn/rnn/report'
import { Command, InvalidArgumentError, Option } from 'commander'
import { type AbortLatencyOptions, measureAborts } from './abort_latency.js'
import { benchPage } from './bench_page.js'
import type { BenchReport } from './bench_report.js'
import { runBench } from './bench_run.js'
import { cellsPage } from './cells_page.js'
import { type CheckoutComparison, checkoutTable, compareCheckouts } from './compare_checkouts.js'
import { consoleReport } from './console_report.js'
import { spacePage } from './space_page.js'
import { spaceSummary, worstNetworks } from './space_report.js'
import { runSpace, type SpaceOptions } from './space_run.js'

interface Options {
  readonly executors?: readonly string[]
  readonly threads: number
  readonly instructionSet?: InstructionSet
  readonly python?: string
  readonly quick: boolean
  readonly only?: RegExp
  readonly limit: number
  readonly json?: string
  readonly html: string
}

const DEFAULT_THREADS = Math.min(2, availableParallelism())

/** The command line of the benchmark; sets the exit code to 1 if an implementation computed other numbers. */
export function createProgram(): Command {
  const program = new Command('bench')
    .description('Times our executors and their baselines in the same run, in turns, and prints the ratios.')
    .option('--executors <names>', 'our executors, best first (default: all that work here)', nameList)
    .option('--threads <n>', 'threads of every implementation', count, DEFAULT_THREADS)
    .addOption(
      new Option(
        '--instruction-set <name>',
        'hold every implementation that can be to it (default: the best of each)',
      ).choices(INSTRUCTION_SETS),
    )
    .option('--python <path>', 'Python interpreter with PyTorch, TensorFlow or Keras')
    .option('--quick', 'three of the six sizes, and short turns', false)
    .option('--only <pattern>', 'only comparisons whose id matches, such as table/lstm/inference', pattern)
    .option('--limit <seconds>', 'leave out cells that take longer for one run', positive, 4)
    .option('--json <file>', 'write everything that was measured')
    .option('--html <file>', 'write the page with charts', 'bench.html')
    .showHelpAfterError('(add --help for all options)')
    // `compare` has options of the same names.
    .enablePositionalOptions()
    .action(bench)
  program
    .command('page <json...>')
    .description('Prints the cells of several results side by side as Markdown.')
    .option('--write <file>', 'write the page to a file instead')
    .action(page)
  program
    .command('compare <before> <after>')
    .description('Times the cells of the quick table with one executor as two checkouts build it, in turns.')
    .option('--executor <name>', 'the executor', 'cpu')
    .option('--threads <n>', 'threads of the executor', count, DEFAULT_THREADS)
    .addOption(new Option('--instruction-set <name>', 'default: the best of each').choices(INSTRUCTION_SETS))
    .option('--only <pattern>', 'only cells whose id matches', pattern)
    .option('--rounds <n>', 'turns of each checkout for each cell', count, 7)
    .action(compare)
  program
    .command('space')
    .description('Times a grid of sizes and drawn networks beside the fastest other libraries, on one thread and two.')
    .option('--executor <name>', 'the executor', 'cpu')
    .addOption(new Option('--instruction-set <name>', 'default: the best of each').choices(INSTRUCTION_SETS))
    .option('--python <path>', 'Python interpreter with PyTorch')
    .option('--seed <n>', 'of the drawn networks', count, 1)
    .option('--drawn <n>', 'how many networks are drawn', count, 40)
    .option('--full', 'the grid of all cells, in training too', false)
    .option('--only <pattern>', 'only networks whose id matches, such as drawn or grid/lstm', pattern)
    .option('--json <file>', 'write everything that was measured')
    .option('--html <file>', 'write the page with heat maps', 'space.html')
    .action(space)
  program
    .command('aborts')
    .description('Aborts calls at random moments, wherever they wait, and prints the time until they end.')
    .option('--backend <name>', 'auto, cudnn, cpu, wasm or reference', 'auto')
    .option('--aborts <n>', 'aborts of each place', count, 20)
    .option('--seed <n>', 'of the moments', count, 1)
    .action(aborts)
  return program
}

async function aborts(options: AbortLatencyOptions): Promise<void> {
  const { table, worst } = await measureAborts(options)
  process.stdout.write(`${table}\nworst of all: ${worst.toFixed(0)} ms\n`)
}

async function space({ json, html, ...options }: SpaceOptions & { readonly json?: string; readonly html: string }) {
  const report = await runSpace(options, announce)
  process.stdout.write(`${tableText(spaceSummary(report))}\n\n${tableText(worstNetworks(report))}\n`)
  writeFileSync(resolve(html), spacePage(report))
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, undefined, 2)}\n`)
  if (disagrees(report)) process.exitCode = 1
}

type CompareOptions = Omit<CheckoutComparison, 'before' | 'after'>

async function compare(before: string, after: string, options: CompareOptions): Promise<void> {
  process.stdout.write(checkoutTable(await compareCheckouts({ ...options, before, after }, announce)))
}

function announce(line: string): void {
  process.stderr.write(`${line}\n`)
}

function page(files: readonly string[], { write }: { readonly write?: string }): void {
  const text = cellsPage(files.map((file) => JSON.parse(readFileSync(file, 'utf8')) as BenchReport))
  if (write === undefined) process.stdout.write(text)
  else writeFileSync(write, text)
}

async function bench({ json, html, limit, ...options }: Options): Promise<void> {
  const report = await runBench(
    {
      executors: options.executors,
      instructionSet: options.instructionSet,
      python: options.python,
      only: options.only,
      threads: options.threads,
      quick: options.quick,
      limitMs: limit * 1000,
    },
    announce,
  )
  process.stdout.write(consoleReport(report))
  const page = resolve(html)
  writeFileSync(page, benchPage(report))
  process.stdout.write(`\nPage with charts: ${page}\n`)
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, undefined, 2)}\n`)
  if (disagrees(report)) process.exitCode = 1
}

function disagrees({ comparisons }: Pick<BenchReport, 'comparisons'>): boolean {
  return comparisons.some(({ results }) => results.some(({ outcome }) => outcome.status === 'differs'))
}

function nameList(text: string): readonly string[] {
  return text.split(',').map((name) => name.trim())
}

function positive(text: string): number {
  const value = numberOfText(text)
  if (!(value > 0)) throw new InvalidArgumentError('It must be a number above 0.')
  return value
}

function count(text: string): number {
  const value = positive(text)
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError('It must be a whole number.')
  return value
}

function pattern(text: string): RegExp {
  try {
    return new RegExp(text)
  } catch (error) {
    throw new InvalidArgumentError(thrownMessage(error))
  }
}
