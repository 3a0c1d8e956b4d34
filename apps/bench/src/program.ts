import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { numberOfText, thrownMessage } from '@cudnn-rnn/canonical/rules'
import { INSTRUCTION_SETS } from '@cudnn-rnn/rnn/executors'
import { tableText } from '@cudnn-rnn/rnn/report'
import { Command, InvalidArgumentError, Option } from 'commander'
import { type AbortLatencyOptions, measureAborts } from './abort_latency.js'
import { benchPage } from './bench_page.js'
import type { BenchReport } from './bench_report.js'
import { type BenchOptions, runBench } from './bench_run.js'
import { type CheckoutComparison, checkoutTable, compareCheckouts } from './compare_checkouts.js'
import { reducedTable, stepTable, summaryTable, worstTable } from './report_tables.js'
import { spacePage } from './space_page.js'

const DEFAULT_THREADS = Math.min(2, availableParallelism())

/** The command line of the benchmark; sets the exit code to 1 if an implementation computed other numbers. */
export function createProgram(): Command {
  const program = new Command('bench')
    .description('Times networks of any size beside other libraries, in turns in the same run, and prints the ratios.')
    .option('--executor <name>', 'the executor', 'cpu')
    .addOption(
      new Option(
        '--instruction-set <name>',
        'hold every implementation to it, and leave out those that cannot be (default: the best of each)',
      ).choices(INSTRUCTION_SETS),
    )
    .option('--python <path>', 'Python interpreter with PyTorch')
    .option('--seed <n>', 'of the drawn networks', count, 1)
    .option('--drawn <n>', 'how many networks are drawn', count, 40)
    .option('--full', 'the grid of all cells, in training too', false)
    .option('--only <pattern>', 'only networks whose id matches, such as drawn, step or grid/lstm', pattern)
    .option('--json <file>', 'write everything that was measured')
    .option('--html <file>', 'write the page with heat maps', 'bench.html')
    .showHelpAfterError('(add --help for all options)')
    // `compare` has options of the same names.
    .enablePositionalOptions()
    .action(bench)
  program
    .command('page <json...>')
    .description('Prints several results side by side as Markdown.')
    .option('--write <file>', 'write the page to a file instead')
    .action(page)
  program
    .command('compare <before> <after>')
    .description('Times networks with one executor as two checkouts build it, in turns.')
    .option('--executor <name>', 'the executor', 'cpu')
    .option('--threads <n>', 'threads of the executor', count, DEFAULT_THREADS)
    .addOption(new Option('--instruction-set <name>', 'default: the best of each').choices(INSTRUCTION_SETS))
    .option('--only <pattern>', 'only networks whose id matches', pattern)
    .option('--rounds <n>', 'turns of each checkout for each network', count, 7)
    .action(compare)
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

interface Written {
  readonly json?: string
  readonly html: string
}

async function bench({ json, html, ...options }: BenchOptions & Written): Promise<void> {
  const report = await runBench(options, announce)
  for (const { name, detail, participates } of report.implementations) {
    if (!participates) announce(`Without ${name}: ${detail}`)
  }
  for (const table of [summaryTable(report), stepTable(report), reducedTable(report), worstTable(report)]) {
    if (table.rows.length > 0) process.stdout.write(`${tableText(table)}\n\n`)
  }
  writeFileSync(resolve(html), benchPage(report))
  process.stdout.write(`Page with heat maps: ${resolve(html)}\n`)
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, undefined, 2)}\n`)
  const differs = report.comparisons.some(({ results }) => results.some(({ outcome }) => outcome.status === 'differs'))
  if (differs) process.exitCode = 1
}

type CompareOptions = Omit<CheckoutComparison, 'before' | 'after'>

async function compare(before: string, after: string, options: CompareOptions): Promise<void> {
  process.stdout.write(checkoutTable(await compareCheckouts({ ...options, before, after }, announce)))
}

function announce(line: string): void {
  process.stderr.write(`${line}\n`)
}

function page(files: readonly string[], { write }: { readonly write?: string }): void {
  const text = spacePage(files.map((file) => JSON.parse(readFileSync(file, 'utf8')) as BenchReport))
  if (write === undefined) process.stdout.write(text)
  else writeFileSync(write, text)
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
