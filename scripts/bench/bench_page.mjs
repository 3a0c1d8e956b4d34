// Measures the wasm executor in pages of Chromium, on one thread of the page:
//   node scripts/bench/bench_page.mjs [--rounds N] [--write]
// the first step after the scripts of a page have loaded, a step of a small stream, passes beside onnxruntime-web, and the
// bytes of the JavaScript. `--write` puts the tables into docs/bench/wasm.md. Build and install the baselines first, as for
// bench_wasm.mjs.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { comparisonTable, row, writeSection } from './bench_wasm/tables.mjs'
import { bundlePage, ISOLATED, withChromium } from '../testing/browser_page.mjs'
import { median } from './statistics.mjs'

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, write: { type: 'boolean', default: false } },
})
const rounds = Number(options.rounds)
/** Pages that are opened one after the other for a first step: the first one finds no code in the browser's caches. */
const PAGES = 9

const STREAM = `
import { openWasmBackend } from '../wasm/dist/index.js'
import { CudnnLSTM } from '../models/dist/index.js'

const loaded = performance.now()
const backend = await openWasmBackend({ threads: 1 })
const lstm = new CudnnLSTM(backend, { numLayers: 2, numUnits: 128, inputSize: 128 })
const stream = lstm.stream(lstm.createParams({ seed: 1 }))
const x = { data: new Float32Array(128).fill(0.5), shape: [1, 1, 128] }
stream.stepSync(x)
const first = performance.now() - loaded
`
const FIRST_STEP = `${STREAM}
console.log(JSON.stringify(first))
`
const STEPS = `${STREAM}
import { roundsOf } from '../../scripts/bench/bench_wasm/rounds.mjs'
import { median } from '../../scripts/bench/statistics.mjs'
const { step } = await roundsOf({ step: () => { for (let k = 0; k < 100; k++) stream.stepSync(x) } }, ${rounds})
console.log(JSON.stringify({ microseconds: 10 * median(step), reason: backend.reason }))
`
const COMPARISON = `
import { openBackend } from './dist/index.js'
import { CASES, compare } from '../../scripts/bench/bench_wasm/comparison.mjs'

const ort = await import('/ort.wasm.min.mjs')
ort.env.wasm.numThreads = 1
ort.env.wasm.wasmPaths = '/'
const wasm = await openBackend('wasm', { threads: 1 })
const results = []
for (const of of CASES) results.push(await compare(of, ort, { wasm }, ${rounds}))
console.log(JSON.stringify({ results, version: ort.env.versions.web, reason: wasm.reason }))
`

/** Files of onnxruntime-web by their paths in a page. */
function peerFiles() {
  const names = ['ort.wasm.min.mjs', 'ort-wasm-simd-threaded.mjs', 'ort-wasm-simd-threaded.wasm']
  const folder = new URL('../../apps/bench/baselines/node_modules/onnxruntime-web/dist/', import.meta.url)
  return names.map((name) => [`/${name}`, readFileSync(new URL(name, folder))])
}

/** Kilobytes after gzip of a page's JavaScript without the module, and of the module in base64. */
function sizesOf(files) {
  const sizes = { scripts: 0, module: 0 }
  for (const contents of files.values()) {
    const bytes = gzipSync(contents, { level: 9 }).length / 1000
    // The module is gzip in base64, whose first bytes are always the same.
    const holdsModule = Buffer.from(contents).includes('H4sIAAAA')
    // A page loads one of the modules: the best one of float32.
    if (!holdsModule) sizes.scripts += bytes
    else if (sizes.module === 0) sizes.module = bytes
  }
  return sizes
}

await withChromium(async (report, version) => {
  const minified = await bundlePage(FIRST_STEP, { minify: true })
  const sizes = sizesOf(minified)
  const firsts = []
  for (let page = 0; page < PAGES; page++) firsts.push(await report(minified, {}))
  const { microseconds, reason } = await report(await bundlePage(STEPS), ISOLATED)
  const small = [
    `Chromium ${version}; ${reason}. A stream through two layers of 128 units, one row.`,
    '',
    row(['', 'measured', 'goal']),
    '|---|---|---|',
    row([
      'first step after the scripts have loaded',
      `${firsts[0].toFixed(0)} ms in the first page, ${median(firsts).toFixed(0)} ms median of ${PAGES}`,
      '150 ms',
    ]),
    row(['step', `${microseconds.toFixed(1)} µs`, '40 µs']),
    row(['`models` and `wasm`, minified, gzip', `${sizes.scripts.toFixed(1)} kB and the module`, '40 kB']),
  ].join('\n')
  console.log(small)
  const files = new Map([...(await bundlePage(COMPARISON, { external: ['/ort.wasm.min.mjs'] })), ...peerFiles()])
  const compared = await report(files, ISOLATED, 300_000)
  const table = [
    `Chromium ${version}; ${compared.reason}; onnxruntime-web ${compared.version}, 1 thread; both on the thread of the page. Medians of ${rounds} rounds, milliseconds.`,
    '',
    comparisonTable(compared.results, { onnx: 'onnxruntime-web' }),
  ].join('\n')
  console.log(`\n${table}`)
  if (!options.write) return
  writeSection('page', small)
  writeSection('chromium', table)
})
