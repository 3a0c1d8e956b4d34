// Proves that a page can use the packed packages: installs them, bundles one page with every usual bundler, and runs each
// bundle in Chromium where there is one.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import nodeResolve from '@rollup/plugin-node-resolve'
import * as esbuild from 'esbuild'
import { chromium } from 'playwright'
import { rollup } from 'rollup'
import { build as vite } from 'vite'
import webpack from 'webpack'
import { packPackages } from './packed_packages.mjs'

const model = fileURLToPath(new URL('../fixtures/interop/pytorch/tagger_half.pt', import.meta.url))

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
    backend, data: Dataset.fromArray([1, 2]), optimizer: new Adam(backend, [params]), learningRate: constantRate(0.1), maxSteps: 2,
    async batchGradients() {
      const { output, tape } = await gru.call(input, null, params)
      const gradients = await gru.gradients(tape, { output })
      return { loss: 0, gradients: [gradients.params] }
    },
  }).then(({ step }) => ({ steps: step }))
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

/** Every bundler with a plain configuration: an entry and a folder, no options about Node.js. */
const BUNDLERS = {
  esbuild: (folder, outdir) =>
    esbuild.build({
      ...{ absWorkingDir: folder, entryPoints: [join(folder, 'main.js')], outdir, logLevel: 'error' },
      ...{ bundle: true, format: 'esm', splitting: true },
    }),
  vite: (folder, outDir) => {
    writeFileSync(join(folder, 'index.html'), '<script type="module" src="/main.js"></script>')
    const rollupOptions = { output: { entryFileNames: 'main.js' } }
    return vite({ root: folder, configFile: false, logLevel: 'error', build: { outDir, rollupOptions } })
  },
  rollup: async (folder, dir) => {
    const onwarn = ({ code, message }) => {
      if (code === 'UNRESOLVED_IMPORT' && !/h5wasm|apache-arrow/.test(message)) throw new Error(message)
    }
    const bundle = await rollup({ input: join(folder, 'main.js'), plugins: [nodeResolve({ browser: true })], onwarn })
    await bundle.write({ dir, format: 'es' })
  },
  webpack: (folder, path) =>
    new Promise((resolve, reject) => {
      const options = { context: folder, entry: './main.js', mode: 'production', output: { path, publicPath: 'auto' } }
      webpack(options, (error, stats) => {
        if (error) reject(error)
        else if (stats.hasErrors()) reject(new Error(stats.toString({ all: false, errors: true })))
        else resolve()
      })
    }),
}

/** Serves a bundle, the model and a page that loads `main.js`. */
async function serve(folder) {
  const server = createServer(({ url }, response) => {
    const file = url === '/model.pt' ? model : join(folder, url)
    const isScript = ['.js', '.mjs'].includes(extname(url))
    if (url !== '/' && !existsSync(file)) response.statusCode = 404
    else
      response.setHeader(
        'content-type',
        url === '/' ? 'text/html' : isScript ? 'text/javascript' : 'application/octet-stream',
      )
    response.end(
      url === '/' ? '<script type="module" src="/main.js"></script>' : existsSync(file) ? readFileSync(file) : '',
    )
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() }
}

async function reportOf(browser, folder) {
  const { url, close } = await serve(folder)
  const page = await browser.newPage()
  const errors = []
  page.on('pageerror', (error) => errors.push(error))
  try {
    await page.goto(url)
    await page.waitForFunction('globalThis.report !== undefined', undefined, { timeout: 20_000 }).catch((error) => {
      throw errors[0] ?? error
    })
    return await page.evaluate('globalThis.report')
  } finally {
    await page.close()
    close()
  }
}

const executablePath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'
const browser = existsSync(executablePath)
  ? await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  : undefined
if (browser === undefined)
  console.log(`Bundles are not run: no Chromium at ${executablePath}. Install it or set CHROMIUM_PATH.`)

let failures = 0
const packed = await packPackages(['@cudnn-rnn/rnn'])
try {
  const folder = await packed.install(['@cudnn-rnn/rnn'])
  writeFileSync(join(folder, 'main.js'), PAGE)
  for (const [name, bundle] of Object.entries(BUNDLERS)) {
    try {
      const outputs = join(folder, `out-${name}`)
      await bundle(folder, outputs)
      if (browser === undefined) continue
      const actual = JSON.stringify(await reportOf(browser, outputs))
      if (actual !== JSON.stringify(EXPECTED))
        throw new Error(`expected ${JSON.stringify(EXPECTED)}\n     got ${actual}`)
    } catch (error) {
      failures++
      console.error(`${name}: ${error.message}`)
    }
  }
} finally {
  await browser?.close()
  packed.close()
}
console.log(`Bundles: ${Object.keys(BUNDLERS).length} checked, ${failures} failures`)
process.exitCode = failures === 0 ? 0 : 1
