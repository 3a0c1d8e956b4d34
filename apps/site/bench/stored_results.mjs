import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

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

/** The last result of each instruction set under docs/bench/results, by its name. */
export function lastReports(root) {
  const folder = join(root, 'docs/bench/results')
  const files = readdirSync(folder).filter((name) => /^\d{4}-\d{2}-\d{2}.*\.json$/.test(name))
  const reports = files.sort().map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
  return new Map(reports.map((report) => [report.instructionSet, report]))
}

/** docs/bench/results/streams.json */
export function streamsResult(root) {
  return JSON.parse(readFileSync(join(root, 'docs/bench/results/streams.json'), 'utf8'))
}

const OURS = 'cpu'

/** The geometric mean of our time over the fastest other implementation's, by pass and number of threads. */
export function meanRatios({ comparisons }) {
  const logs = new Map()
  for (const { results } of comparisons) {
    const measured = results.filter(({ outcome }) => outcome.status === 'measured')
    const times = (isOurs) =>
      measured
        .filter(({ series }) => (series.implementation === OURS) === isOurs)
        .map(({ outcome }) => outcome.spread.median)
    const [ours, best] = [times(true)[0], Math.min(...times(false))]
    if (ours === undefined || best === Number.POSITIVE_INFINITY) continue
    const { pass, threads } = results[0].series
    const kind = `${pass === 'streaming' ? 'single steps' : pass}, ${threads} thread${threads > 1 ? 's' : ''}`
    logs.set(kind, [...(logs.get(kind) ?? []), Math.log(ours / best)])
  }
  const mean = (values) => Math.exp(values.reduce((sum, value) => sum + value, 0) / values.length)
  return new Map([...logs].map(([kind, values]) => [kind, mean(values)]))
}
