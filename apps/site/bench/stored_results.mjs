import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const CELLS = { lstm: 'LSTM', gru: 'GRU', rnn_relu: 'RNN relu', rnn_tanh: 'RNN tanh' }

/** Instruction sets of the cpu executor as charts name them. */
const SET_TITLES = {
  'avx512-vnni': 'AVX-512',
  avx512: 'AVX-512 without VNNI',
  avx2: 'AVX2',
  neon: 'NEON',
  portable: 'portable C++',
}

/** The title of an instruction set; throws for one without a title. */
export function setTitle(set) {
  if (!Object.hasOwn(SET_TITLES, set)) {
    throw new Error(`Add a title of the instruction set ${set} to apps/site/bench/stored_results.mjs`)
  }
  return SET_TITLES[set]
}

/** The last result of each instruction set under docs/bench/results, by its name; a run of the widest set has none. */
export function lastReports(root) {
  const folder = join(root, 'docs/bench/results')
  const files = readdirSync(folder).filter((name) => /^\d{4}-\d{2}-\d{2}.*\.json$/.test(name))
  const reports = files.sort().map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
  const named = reports.filter(({ settings }) => settings.instructionSet !== undefined)
  return new Map(named.map((report) => [report.settings.instructionSet, report]))
}

/** docs/bench/results/streams.json */
export function streamsResult(root) {
  return JSON.parse(readFileSync(join(root, 'docs/bench/results/streams.json'), 'utf8'))
}

/** Our time over the fastest other implementation's, by cell, of one section and pass. */
export function bestRatios(report, section, pass) {
  const ratios = comparisons(report, section, pass).map(({ cell, ours, others }) => [
    cell,
    ours / Math.min(...others.map(({ ms }) => ms)),
  ])
  return new Map(ratios)
}

/** The geometric mean of our time over each other implementation's that measured every cell, by its title. */
export function meanRatios(report, pass) {
  const cells = comparisons(report, 'table', pass)
  const entries = report.implementations
    .filter(({ name }) => name !== OURS)
    .map(({ name, title }) => {
      const logs = cells.flatMap(({ ours, others }) => {
        const other = others.find((each) => each.name === name)
        return other === undefined ? [] : [Math.log(ours / other.ms)]
      })
      const mean = Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length)
      return logs.length === cells.length ? [title, mean] : undefined
    })
  return new Map(entries.filter((entry) => entry !== undefined))
}

const OURS = 'cpu'

function comparisons(report, section, pass) {
  return report.comparisons
    .filter((each) => each.section === section && each.results[0].series.pass === pass)
    .map(({ workload, results }) => {
      const measured = results
        .filter(({ outcome }) => outcome.status === 'measured')
        .map((result) => ({ name: result.series.implementation, ms: result.outcome.spread.median }))
      const { cellMode, batch, time, numUnits } = workload
      return {
        cell: `${CELLS[cellMode]} ${batch} × ${time} × ${numUnits}`,
        ours: measured.find(({ name }) => name === OURS).ms,
        others: measured.filter(({ name }) => name !== OURS),
      }
    })
}
