// Compares `cudnn-rnn forecast`, with no option but the file, with linear regression and the seasonal-naive forecast on the
// ten series of forecast_series.mjs:
//   node scripts/bench/bench_forecast.mjs [--seeds 1,2,3] [--write]
// Each command trains on the beginning of a series, and all three forecast its held-out end. `--write` puts the table into
// docs/bench/forecast.md. Build first: npm run build.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { forecastSeries } from './forecast_series.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'

ownTemporaryFolder()

const { values: options } = parseArgs({
  options: { seeds: { type: 'string', default: '1,2,3,4,5' }, write: { type: 'boolean', default: false } },
})
const root = fileURLToPath(new URL('../..', import.meta.url))
const program = join(root, 'apps/cli/dist/bin.js')
const page = join(root, 'docs/bench/forecast.md')
const folder = mkdtempSync(join(tmpdir(), 'cudnn-rnn-forecast-'))

function measured({ name, csv }, seed) {
  const file = join(folder, 'series.csv')
  writeFileSync(file, csv)
  const began = performance.now()
  const args = ['forecast', '--csv', file, '--out', join(folder, 'run'), '--overwrite', '--json']
  const output = execFileSync(process.execPath, [program, ...args], { encoding: 'utf8', maxBuffer: 2 ** 26 })
  const seconds = (performance.now() - began) / 1000
  const { errors, shape, advice, share, coverage } = JSON.parse(output.trim().split('\n').at(-1))
  const [ours, linear, naive] = Object.values(errors).map(({ mae }) => mae)
  return { seed, name, shape, ours, linear, naive, seconds, share, coverage, instead: advice?.instead ?? '' }
}

const short = (value) => value.toPrecision(4)
const wins = (results) => results.filter(({ ours, linear, naive }) => ours < linear && ours < naive).length
const ratio = (results) => {
  const logs = results.map(({ ours, linear, naive }) => Math.log(ours / Math.min(linear, naive)))
  return Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length)
}

try {
  const seeds = options.seeds.split(',').map(Number)
  const all = seeds.flatMap((seed) => forecastSeries(seed).map((series) => measured(series, seed)))
  const first = all.filter(({ seed }) => seed === seeds[0])
  const rows = first.map(({ name, shape, ours, linear, naive, seconds, share, coverage, instead }) => {
    const best = Math.min(ours, linear, naive)
    const cell = (value) => (value === best ? `**${short(value)}**` : short(value))
    const sizes = `${shape.season} / ${shape.window} / ${shape.horizon}`
    const columns = [
      name,
      sizes,
      cell(ours),
      cell(linear),
      cell(naive),
      `${100 * share} %`,
      `${(100 * coverage).toFixed(0)} %`,
    ]
    return `| ${[...columns, seconds.toFixed(1), instead].join(' | ')} |`
  })
  const summary = seeds.map((seed) => {
    const own = all.filter((each) => each.seed === seed)
    return `| ${seed} | ${wins(own)} of ${own.length} | ${ratio(own).toFixed(3)} |`
  })
  const table = [
    `| series | season / window / horizon | forecast | linear regression | seasonal naive | share of the network | held by the interval | s | use instead |`,
    '|---|---|---|---|---|---|---|---|---|',
    ...rows,
    '',
    '| seed | beats both baselines | error relative to the better baseline, geometric mean |',
    '|---|---|---|',
    ...summary,
    `| all | ${wins(all)} of ${all.length} | ${ratio(all).toFixed(3)} |`,
  ].join('\n')
  console.log(table)
  if (options.write) {
    const text = readFileSync(page, 'utf8')
    const [before] = text.split('<!-- table -->')
    writeFileSync(page, `${before}<!-- table -->\n\n${table}\n`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
