import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Verdict } from './outcome.js'
import { table } from './report_table.js'
import { type FiledOutcome, outcomesOf } from './result_files.js'
import { type Target, targets } from './targets.js'
import { timeTables } from './time_tables.js'

const FILES = ['conformance', 'golden', 'checklist', 'timing'] as const
const VERDICTS: readonly Verdict[] = ['pass', 'fail', 'noted', 'skipped']

/** Writes <date>_<gpu>.md of the results in `folder` into the folder `to`; returns its path. */
export function writeReport(folder: string, to: string): string {
  const outcomes = FILES.flatMap((file) => outcomesOf(folder, file))
  const device = measuredOf(outcomes, '1.7') as Readonly<Record<string, unknown>> | undefined
  const gpu = String(device?.['name'] ?? 'no GPU')
  const date = new Date().toISOString().slice(0, 10)
  const file = join(to, `${date}_${gpu.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_')}.md`)
  mkdirSync(to, { recursive: true })
  writeFileSync(file, `${pageOf(outcomes, gpu, date)}\n`)
  return file
}

function pageOf(outcomes: readonly FiledOutcome[], gpu: string, date: string): string {
  return [
    `# ${gpu}, ${date}`,
    'The answers of one machine, written by `npm run test:gpu`.',
    '## Machine',
    machineTable(outcomes),
    '## Targets',
    table(['target', 'asked', 'measured', 'verdict'], targets(outcomes).map(targetRow)),
    '## Sections',
    table(['section', ...VERDICTS], sectionRows(outcomes)),
    ...timeTables(outcomes),
    '## Failures',
    // The cells of the tables of times have their ratios there.
    listed(outcomes.filter(({ verdict, id }) => verdict === 'fail' && id !== '13.3')),
    '## Skipped',
    listed(outcomes.filter(({ verdict }) => verdict === 'skipped')),
    '## What cuDNN does',
    'Answers that the documentation leaves open; the matrices of algorithms are in the JSON lines.',
    found(outcomes.filter(({ verdict, id }) => verdict === 'noted' && /^(6|8|10|11)\./.test(id))),
  ].join('\n\n')
}

function measuredOf(outcomes: readonly FiledOutcome[], id: string): unknown {
  return outcomes.find((outcome) => outcome.id === id)?.measured
}

function machineTable(outcomes: readonly FiledOutcome[]): string {
  const rows = outcomes
    // The addon's path is of no use to anybody else.
    .filter(({ section, verdict, id }) => section === 'machine' && verdict === 'noted' && id !== '1.4')
    .map(({ id, what, measured }) => [what, id === '1.5' ? fileNames(measured) : short(measured)])
  const torch = measuredOf(outcomes, '13.1')
  return table(['what', 'is'], torch === undefined ? rows : [...rows, ['PyTorch', short(torch)]])
}

function fileNames(files: unknown): string {
  return Object.values((files ?? {}) as Readonly<Record<string, string>>)
    .map((file) => basename(file))
    .join(', ')
}

function targetRow({ what, asked, measured, holds }: Target): readonly string[] {
  return [what, asked, measured, holds === undefined ? 'not measured' : holds ? 'met' : '**not met**']
}

function sectionRows(outcomes: readonly FiledOutcome[]): readonly (readonly string[])[] {
  const names = [...new Set(outcomes.map(({ section }) => section))]
  return names.map((name) => {
    const made = outcomes.filter(({ section }) => section === name)
    return [name, ...VERDICTS.map((verdict) => String(made.filter((one) => one.verdict === verdict).length))]
  })
}

function listed(outcomes: readonly FiledOutcome[]): string {
  if (outcomes.length === 0) return 'Nothing.'
  const rows = outcomes.map(({ id, what, expected, measured }) => [id, what, expected, short(measured)])
  return table(['id', 'what', 'expected', 'measured'], rows)
}

/** One row for all outcomes of a check that measured the same. */
function found(outcomes: readonly FiledOutcome[]): string {
  const groups = new Map<string, FiledOutcome[]>()
  for (const outcome of outcomes) {
    const key = `${outcome.id} ${short(outcome.measured)}`
    groups.set(key, [...(groups.get(key) ?? []), outcome])
  }
  if (groups.size === 0) return 'Nothing.'
  const rows = [...groups.values()].map((group) => {
    const { id, what, measured } = group[0] as FiledOutcome
    return [id, group.length === 1 ? what : `${what}, and ${group.length - 1} more`, short(measured)]
  })
  return table(['id', 'what', 'measured'], rows)
}

function short(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return (text ?? '').slice(0, 400)
}
