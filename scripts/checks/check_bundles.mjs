// Proves that a page can use the packed packages: installs them, bundles two pages with every usual bundler, and runs each
// bundle in Chromium if there is one, esbuild's in Firefox too. One page imports the facade, the other the slim entry
// of wasm. A page may request only its own files and those that its author fetches. All bundles compute the same numbers.
// Then that a program of Node.js opens an executor from a bundle of every format, wherever the bundle is moved.
import { EventEmitter, once } from 'node:events'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import nodeResolve from '@rollup/plugin-node-resolve'
import * as esbuild from 'esbuild'
import { rollup } from 'rollup'
import { build as vite } from 'vite'
import webpack from 'webpack'
import { openChromium } from '../testing/browser_page.mjs'
import { openInFirefox } from '../testing/firefox_process.mjs'
import { addonOf, packPackages, run } from '../build/packed_packages.mjs'
import { platformPackages, thisPlatform } from '../build/platforms.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'

ownTemporaryFolder()

const model = fileURLToPath(new URL('../../fixtures/interop/pytorch/tagger_half.pt', import.meta.url))

const PAGE = `
import { CudnnGRU, importWeights, openBackend } from '@cudnn-rnn/rnn'
import { directoryStore, MemoryStore, memorySource, openCheckpoint, openCheckpointFrom } from '@cudnn-rnn/checkpoint'
import { blobSource, exportWeights, openWeightFile } from '@cudnn-rnn/interop'
import { cudnnLSTM, dense, lastStep, loadModel, sequential } from '@cudnn-rnn/layers'
import { RNNParamsSaveable, Saver } from '@cudnn-rnn/saveable'
import { Adam, constantRate, csvDataset, Dataset, fit } from '@cudnn-rnn/train'

const codeOf = (promise) => promise.then(() => 'no error', ({ code }) => code)

async function report() {
  const backend = await openBackend('auto')
  const gru = new CudnnGRU(backend, { numLayers: 1, numUnits: 3, inputSize: 2 })
  const params = gru.createParams({ seed: 1 })
  const input = { data: new Float32Array(8).fill(0.5), shape: [4, 1, 2] }
  const { steps } = await fit({
    data: Dataset.fromArray([1, 2]), optimizer: new Adam([params]), learningRate: constantRate(0.1), maxSteps: 2,
    async batchGradients() {
      const { output, tape } = await gru.call(input, null, params)
      const gradients = await gru.gradients(tape, { output })
      return { loss: 0, gradients: [gradients.params] }
    },
  }).then(({ step }) => ({ steps: step }))
  const { output } = await gru.call(input, null, params)
  const numbers = [...(await output.read()).data]
  const blob = await (await fetch('/model.pt')).blob()
  const { format, networks } = await importWeights(blob)
  const file = await openWeightFile(blobSource('model.pt', blob))
  const saveable = new RNNParamsSaveable(gru.paramsToCanonical, gru.canonicalToParams, [params])

  // A checkpoint as a download, imported again from its files.
  const store = new MemoryStore()
  const prefix = await new Saver([saveable], { store }).save('model', { globalStep: 2 })
  const downloads = [...store.files].map(([name, bytes]) => new File([bytes], name))
  const saved = await importWeights(downloads.filter(({ name }) => name.startsWith(prefix)))
  const converted = await importWeights(new Blob([await exportWeights(saved.networks, { format: 'safetensors' })]))

  // A run in the page's private file system.
  const examples = [0, 1, 0, 1].map((label) => ({ input: { data: new Float32Array(6).fill(label), shape: [3, 2] }, label }))
  const checkpoints = directoryStore(await navigator.storage.getDirectory())
  const starts = []
  const layers = () => [cudnnLSTM({ numUnits: 3, inputSize: 2 }), lastStep(), dense({ units: 2 })]
  for (const maxSteps of [1, 2]) {
    const options = { loss: 'softmax_cross_entropy', batchSize: 2, maxSteps, checkpoints }
    await sequential(backend, layers()).fit(examples, { ...options, onStart: (step) => { starts.push(step) } })
  }
  const resumed = await loadModel(backend, checkpoints)
  return {
    backend: backend.name,
    numbers,
    steps,
    saved: [prefix, saved.format, saved.networks.length, converted.format, converted.networks.length],
    run: [...starts, resumed.layers.length],
    imported: [format, networks.length > 0, file.tensors.length > 0],
    // Functions that need a file system reject with a code.
    codes: [
      await codeOf(openBackend('cpu')),
      await codeOf(openBackend('cudnn')),
      await codeOf(importWeights('model.pt')),
      await codeOf(importWeights(Uint8Array.of(0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a))),
      await codeOf(openCheckpoint('run/model-1')),
      await codeOf(new Saver([saveable]).save('run/model')),
      await codeOf(csvDataset('a.csv').iterate().next()),
      await codeOf(openCheckpointFrom('a', async (path) => memorySource(path, new Uint8Array(100)))),
    ],
  }
}
report().then((value) => { globalThis.report = value }, (error) => { globalThis.report = String(error.stack) })
`

const EXPECTED = {
  backend: 'wasm',
  steps: 2,
  saved: ['model-2', 'tensorflow', 1, 'safetensors', 1],
  run: [0, 1, 3],
  imported: ['pytorch', true, true],
  codes: [
    'ERR_BACKEND_UNAVAILABLE',
    'ERR_BACKEND_UNAVAILABLE',
    'ERR_WEIGHTS_IO',
    'ERR_PACKAGE_MISSING',
    'ERR_CHECKPOINT_IO',
    'ERR_NODE_REQUIRED',
    'ERR_NODE_REQUIRED',
    'ERR_CHECKPOINT_CORRUPT',
  ],
}

/** A page of the slim entry: `addresses` are statements that define `relaxed` and `simd128`. */
const slimPage = (addresses) => `
import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { hasInstructionSet, openWasmBackend } from '@cudnn-rnn/wasm/slim'
${addresses}

async function report() {
  const backend = await openWasmBackend({ module: fetch(hasInstructionSet('relaxed-simd') ? relaxed : simd128) })
  const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 3, inputSize: 2 }))
  const wave = (size) => Float32Array.from({ length: size }, (_, k) => Math.sin(k))
  const input = { data: wave(8), shape: [4, 1, 2] }
  const params = { data: wave(rnn.paramsSize), shape: [rnn.paramsSize] }
  const { output } = await rnn.forward({ input, inputH: null, inputC: null, params, sequenceLengths: null, training: false })
  const { data, shape } = await output.read()
  return { numbers: [...data], reason: backend.reason.split(',')[0], shape }
}
report().then((value) => { globalThis.report = value }, (error) => { globalThis.report = String(error.stack) })
`
const SLIM_EXPECTED = { reason: 'wasm: given module', shape: [4, 1, 3] }
/** Relaxed SIMD, which not every browser has, rounds once where SIMD rounds twice. */
const TOLERANCE = 1e-5

/** The lines of a page's author, by the bundler's way to name a file of a package. */
const BY_URL = `
const relaxed = new URL('@cudnn-rnn/wasm/relaxed.wasm', import.meta.url)
const simd128 = new URL('@cudnn-rnn/wasm/simd128.wasm', import.meta.url)`
const BY_IMPORT = `
import relaxed from '@cudnn-rnn/wasm/relaxed.wasm'
import simd128 from '@cudnn-rnn/wasm/simd128.wasm'`
const COPIED = `
const relaxed = new URL('/relaxed.wasm', location)
const simd128 = new URL('/simd128.wasm', location)`

/** Every bundler with a plain configuration: an entry and a folder, no options about Node.js. */
const BUNDLERS = {
  esbuild: {
    addresses: BY_IMPORT,
    bundle: (folder, entry, outdir) =>
      esbuild.build({
        ...{ absWorkingDir: folder, entryPoints: { main: join(folder, entry) }, outdir, logLevel: 'error' },
        ...{ bundle: true, format: 'esm', splitting: true },
        // The line of the guide, for the slim entry alone.
        ...(entry === 'slim.js' && { loader: { '.wasm': 'file' } }),
      }),
  },
  vite: {
    addresses: BY_URL,
    bundle: (folder, entry, outDir) => {
      writeFileSync(join(folder, 'index.html'), `<script type="module" src="/${entry}"></script>`)
      const rollupOptions = { output: { entryFileNames: 'main.js' } }
      return vite({ root: folder, configFile: false, logLevel: 'error', build: { outDir, rollupOptions } })
    },
  },
  rollup: {
    addresses: COPIED,
    bundle: async (folder, entry, dir) => {
      const onwarn = ({ code, message }) => {
        if (code === 'UNRESOLVED_IMPORT' && !/h5wasm|apache-arrow/.test(message)) throw new Error(message)
      }
      const plugins = [nodeResolve({ browser: true })]
      const bundle = await rollup({ input: { main: join(folder, entry) }, plugins, onwarn })
      await bundle.write({ dir, format: 'es' })
      if (entry !== 'slim.js') return
      for (const name of ['relaxed.wasm', 'simd128.wasm']) {
        copyFileSync(join(folder, 'node_modules/@cudnn-rnn/wasm/dist', name), join(dir, name))
      }
    },
  },
  webpack: {
    addresses: BY_URL,
    bundle: (folder, entry, path) =>
      new Promise((resolve, reject) => {
        const output = { path, publicPath: 'auto' }
        const options = { context: folder, entry: { main: `./${entry}` }, mode: 'production', output }
        webpack(options, (error, stats) => {
          if (error) reject(error)
          else if (stats.hasErrors()) reject(new Error(stats.toString({ all: false, errors: true })))
          else resolve()
        })
      }),
  },
}

/** Next.js and its peers, installed beside the packages. */
const NEXT = ['next@16.4.6', 'react@19.3.1', 'react-dom@19.3.1']
const LAYOUT = "export default ({ children }) => <html lang='en'><body>{children}</body></html>\n"
/** A component of the browser, which runs a page's program once. */
const component = (program) => `'use client'
import { useEffect } from 'react'
export default function Page() {
  useEffect(() => { import('${program}') }, [])
  return null
}
`

/** An application with both pages, exported as files. Resolves to its folder. */
async function buildNext(folder) {
  mkdirSync(join(folder, 'app/slim'), { recursive: true })
  writeFileSync(join(folder, 'app/layout.js'), LAYOUT)
  writeFileSync(join(folder, 'app/page.js'), component('../main.js'))
  writeFileSync(join(folder, 'app/slim/page.js'), component('../../slim.js'))
  // Files, for a server of files; the packages need no line.
  writeFileSync(join(folder, 'next.config.mjs'), "export default { output: 'export' }\n")
  writeFileSync(join(folder, 'slim.js'), slimPage(BY_URL))
  process.env['NEXT_TELEMETRY_DISABLED'] = '1'
  await run(process.execPath, ['node_modules/next/dist/bin/next', 'build'], folder)
  return join(folder, 'out')
}

const PROGRAM = `
import { openBackend } from '@cudnn-rnn/rnn'
openBackend('auto').then((backend) => {
  console.log(JSON.stringify([backend.name, backend.reason]))
  backend.dispose()
})
`
const OPTIONAL = ['h5wasm', 'apache-arrow']

/** Bundles `program.js` for Node.js into `main.cjs` or `main.mjs` of `outdir`; with `external`, without the packages of this repository. */
const NODE_BUNDLERS = {
  esbuild: (folder, outdir, format, external) =>
    esbuild.build({
      ...{ absWorkingDir: folder, entryPoints: ['program.js'], bundle: true, platform: 'node', logLevel: 'error' },
      ...{
        format,
        outfile: join(outdir, mainOf(format)),
        external: [...OPTIONAL, ...(external ? ['@cudnn-rnn/*'] : [])],
      },
    }),
  rollup: async (folder, dir, format, external) => {
    const plugins = [nodeResolve({ exportConditions: ['node'] })]
    const isExternal = (id) => OPTIONAL.includes(id) || (external && id.startsWith('@cudnn-rnn/'))
    const bundle = await rollup({ input: join(folder, 'program.js'), plugins, external: isExternal, onwarn() {} })
    const names = { entryFileNames: mainOf(format), chunkFileNames: `[name].${mainOf(format).slice(-3)}` }
    await bundle.write({ dir, format, ...names })
  },
  vite: (folder, outDir, format, external) =>
    vite({
      ...{
        root: folder,
        configFile: false,
        logLevel: 'error',
        ssr: external ? {} : { noExternal: true, external: OPTIONAL },
      },
      build: { ssr: 'program.js', outDir, rollupOptions: { output: { format, entryFileNames: mainOf(format) } } },
    }),
  webpack: (folder, path, format, external) =>
    new Promise((resolve, reject) => {
      const isModule = format === 'esm'
      const output = { path, filename: mainOf(format), module: isModule, chunkFormat: isModule ? 'module' : 'commonjs' }
      const externals = [...OPTIONAL, ...(external ? [/^@cudnn-rnn\//] : [])]
      const options = {
        context: folder,
        entry: './program.js',
        target: 'node20',
        mode: 'production',
        // Minification takes 20 s, and the page's bundle has it of the same packages.
        optimization: { minimize: false },
        output,
        externals,
      }
      const types = { externalsType: isModule ? 'module' : 'commonjs', experiments: { outputModule: isModule } }
      webpack({ ...options, ...types }, (error, stats) => {
        if (error) reject(error)
        else if (stats.hasErrors()) reject(new Error(stats.toString({ all: false, errors: true })))
        else resolve()
      })
    }),
}
const mainOf = (format) => (format === 'cjs' ? 'main.cjs' : 'main.mjs')

/** Places where a bundle runs, by the folder below the installation's; `expected` is the executor of a machine without a GPU. */
const PLACES = {
  'the project': { external: true, expected: 'cpu' },
  'a separate folder': { path: '../alone', expected: 'wasm', reason: /mark @cudnn-rnn\/\* as external/ },
  'a folder with the addon, as of Lambda': { path: '../task', addon: true, expected: 'cpu' },
  'a main process of Electron': { path: '../Resources/app.asar', addon: true, electron: true, expected: 'cpu' },
}
const ELECTRON = "data:text/javascript,Object.defineProperty(process.versions,'electron',{value:'40.0.0'})"

/** Each bundle is made where the packages are installed and runs where they are not, unless they are external. */
async function checkPrograms(folder, addon) {
  writeFileSync(join(folder, 'program.js'), PROGRAM)
  const outputs = []
  for (const [name, bundle] of Object.entries(NODE_BUNDLERS)) {
    for (const format of ['cjs', 'esm']) {
      for (const external of [true, false]) {
        const outdir = join(folder, `out-node-${name}-${format}-${external}`)
        await check(`${name}, ${format}`, async () => {
          await bundle(folder, outdir, format, external)
          outputs.push({ name, format, external, outdir })
        })
      }
    }
  }
  const run = async ({ outdir, format }, { path, addon: isBeside, electron, expected, reason = /^/ }) => {
    const place = path === undefined ? outdir : join(folder, path)
    if (path !== undefined) {
      rmSync(place, { recursive: true, force: true })
      cpSync(outdir, place, { recursive: true })
      if (isBeside) copyFileSync(addon, join(place, 'cudnn_rnn_cpu.node'))
    }
    const flags = electron ? ['--import', ELECTRON] : []
    const [opened, why] = JSON.parse(await runProgram([...flags, join(place, mainOf(format))]))
    if (opened !== expected || why.length > 160 || !reason.test(why))
      throw new Error(`expected ${expected}, got ${opened}: ${why}`)
  }
  // The last places have no packages above them: not those from which the bundles were made either.
  for (const isExternal of [true, false]) {
    for (const output of outputs.filter(({ external }) => external === isExternal)) {
      for (const [name, place] of Object.entries(PLACES).filter(
        ([, { external = false }]) => external === isExternal,
      )) {
        await check(`${output.name}, ${output.format}, ${name}`, () => run(output, place))
      }
    }
    if (isExternal) renameSync(join(folder, 'node_modules'), join(folder, 'moved_away'))
  }
}

/** The output of a program that sees no GPU. */
const runProgram = (args) => run(process.execPath, args, tmpdir())

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm' }
const SCRIPT_PAGE = '<!doctype html><script type="module" src="/main.js"></script>'
/** Sends the report to the server, for a browser without a driver. */
const SENDING_PAGE = `${SCRIPT_PAGE}<script>
const timer = setInterval(() => {
  if (globalThis.report === undefined) return
  clearInterval(timer)
  fetch('/report', { method: 'POST', body: JSON.stringify(globalThis.report) })
}, 20)
</script>`

/** Serves the files of a bundle, the model and, if there is none, a page that loads `main.js`. `reports` emits the reports that a page sends. */
async function serve(folder, scriptPage = SCRIPT_PAGE) {
  const missing = []
  const reports = new EventEmitter()
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost')
    if (request.method === 'POST' && pathname === '/report') {
      reports.emit('report', await json(request))
      response.end()
      return
    }
    const path = pathname === '/' ? '/index.html' : extname(pathname) === '' ? `${pathname}.html` : pathname
    const file = pathname === '/model.pt' ? model : join(folder, path)
    const isThere = existsSync(file) && statSync(file).isFile()
    const isPage = !isThere && pathname === '/'
    if (!isThere && !isPage) {
      response.statusCode = 404
      if (pathname !== '/favicon.ico') missing.push(pathname)
    }
    response.setHeader('content-type', isPage ? 'text/html' : (TYPES[extname(file)] ?? 'application/octet-stream'))
    response.end(isThere ? readFileSync(file) : isPage ? scriptPage : '')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { origin: `http://127.0.0.1:${server.address().port}`, missing, reports, close: () => server.close() }
}

/**
 * The report of a page. Throws if it requests a file of another server, one that is not there, or anything by `fetch` that
 * does not match `fetched`.
 */
async function reportOf(browser, folder, path, fetched) {
  const { origin, missing, close } = await serve(folder)
  const page = await browser.newPage()
  page.setDefaultTimeout(100_000)
  const errors = []
  const refused = []
  page.on('pageerror', (error) => errors.push(error))
  page.on('request', (request) => {
    const url = request.url()
    if (/^(blob|data):/.test(url)) return
    const isOwn = url.startsWith(`${origin}/`)
    const isByProgram = ['fetch', 'xhr', 'websocket', 'eventsource', 'ping'].includes(request.resourceType())
    if (!isOwn || (isByProgram && !fetched.test(url))) refused.push(`${request.resourceType()} ${url}`)
  })
  try {
    await page.goto(`${origin}${path}`)
    await page.waitForFunction('globalThis.report !== undefined', undefined, { timeout: 100_000 }).catch((error) => {
      throw errors[0] ?? error
    })
    const report = await page.evaluate('globalThis.report')
    const unexpected = [...refused, ...missing.map((name) => `not found ${name}`)]
    if (unexpected.length > 0) throw new Error(`the page requested ${unexpected.join(', ')}`)
    return report
  } finally {
    await page.close()
    close()
  }
}

/** The reports of the pages of `folders`, in tabs of one Firefox. Only their requests for missing files are checked. */
async function reportsInFirefox(folders) {
  const servers = await Promise.all(folders.map((folder) => serve(folder, SENDING_PAGE)))
  const origins = servers.map(({ origin }) => origin)
  const leave = await openInFirefox(firefoxPath, origins)
  const reportFrom = async ({ reports, missing }) => {
    const [report] = await once(reports, 'report', { signal: AbortSignal.timeout(60_000) }).catch((cause) => {
      throw new Error('a page sent no report within 60 s', { cause })
    })
    if (missing.length > 0) throw new Error(`the page requested ${missing.join(', ')}, not found`)
    return report
  }
  try {
    return await Promise.all(servers.map(reportFrom))
  } finally {
    await leave()
    for (const { close } of servers) close()
  }
}

const browser = await openChromium()

const firefoxPath = process.env['FIREFOX_PATH'] ?? '/usr/bin/firefox-esr'
const hasFirefox = existsSync(firefoxPath)
if (!hasFirefox)
  console.log(`Bundles are not run in Firefox: none is at ${firefoxPath}. Install it or set FIREFOX_PATH.`)

/** Requests that the author of each page makes. */
const MAIN = { path: '/', expected: EXPECTED, fetched: /\/model\.pt$/ }
const SLIM = { path: '/', expected: SLIM_EXPECTED, fetched: /\.wasm$/ }

async function checkPage(folder, page) {
  if (browser !== undefined) checkReport(await reportOf(browser, folder, page.path, page.fetched), page.expected)
}

/** The numbers of the first bundle of a page, by its expected report. */
const firstNumbers = new Map()

function checkReport(report, expected) {
  const { numbers, ...others } = report
  if (JSON.stringify(others) !== JSON.stringify(expected)) {
    throw new Error(`expected ${JSON.stringify(expected)}\n     got ${JSON.stringify(report)}`)
  }
  const first = firstNumbers.get(expected) ?? numbers
  firstNumbers.set(expected, first)
  const isSame = (value, index) => value !== 0 && Math.abs(value - first[index]) <= TOLERANCE
  if (numbers.length === 12 && numbers.every(isSame)) return
  throw new Error(`expected ${first}\n     got ${numbers}`)
}

/** After gzip, as servers send them; without the .wasm files. */
const MOST_SLIM_BYTES = 40_000

function checkSlim(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((name) => /\.m?js$/.test(name))
  const bytes = files.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0)
  if (bytes > MOST_SLIM_BYTES) throw new Error(`the scripts have ${bytes} bytes after gzip: ${MOST_SLIM_BYTES} at most`)
}

let checks = 0
let failures = 0
async function check(name, work) {
  checks++
  try {
    await work()
  } catch (error) {
    failures++
    console.error(`${name}: ${error.message}`)
  }
}

const packed = await packPackages()
try {
  const folder = await packed.install(['@cudnn-rnn/rnn', ...NEXT])
  writeFileSync(join(folder, 'main.js'), PAGE)
  for (const [name, { bundle, addresses }] of Object.entries(BUNDLERS)) {
    await check(name, async () => {
      const outputs = join(folder, `out-${name}`)
      await bundle(folder, 'main.js', outputs)
      await checkPage(outputs, MAIN)
    })
    await check(`${name}, slim`, async () => {
      const outputs = join(folder, `out-slim-${name}`)
      writeFileSync(join(folder, 'slim.js'), slimPage(addresses))
      await bundle(folder, 'slim.js', outputs)
      if (name !== 'esbuild' && name !== 'rollup') checkSlim(outputs)
      await checkPage(outputs, SLIM)
    })
  }
  // One bundler is enough for another engine: the code of the packages is the same in every bundle.
  if (hasFirefox)
    await check('esbuild, Firefox', async () => {
      const folders = ['out-esbuild', 'out-slim-esbuild'].map((name) => join(folder, name))
      const [main, slim] = await reportsInFirefox(folders)
      checkReport(main, EXPECTED)
      checkReport(slim, SLIM_EXPECTED)
    })
  let exported
  await check('next', async () => {
    exported = await buildNext(folder)
    await checkPage(exported, MAIN)
  })
  if (exported !== undefined) await check('next, slim', () => checkPage(exported, { ...SLIM, path: '/slim' }))
  const addon = addonOf(platformPackages().find((each) => each.addon === 'cpu' && each.platform === thisPlatform()))
  if (addon === undefined) console.log('Bundles are not run in Node.js: the addon is not built')
  else await checkPrograms(folder, addon)
} finally {
  await browser?.close()
}
console.log(`Bundles: ${checks} checked, ${failures} failures`)
if (failures > 0) process.exitCode = 1
