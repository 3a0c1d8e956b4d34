// Compares inference on the wasm executor with onnxruntime-web, and with the native kernels of AVX2:
//   node scripts/bench/bench_wasm.mjs [--threads N] [--rounds N] [--write]
//   node scripts/bench/bench_wasm.mjs --int8 [--rounds N] [--write]   int8 weights beside float32, one row, one thread
//   node scripts/bench/bench_wasm.mjs --others [--threads N] [--rounds N] [--write]   an LSTM in TensorFlow.js and jax-js
//                                                                       on WebAssembly, training too
// All take input and initial states and give output and final states. Rounds alternate, so that all meet the same load; the
// figures are medians. `--write` puts the table into docs/bench/wasm.md. Build first: npm run build. onnxruntime-web takes
// part after `npm ci --prefix apps/bench/baselines --ignore-scripts`. In a page: scripts/bench/bench_page.mjs.
import { parseArgs } from 'node:util'
import { CudnnGRU, CudnnLSTM, openBackend } from '../../packages/rnn/dist/index.js'
import { CASES, cellName, compare, ourPass, wave } from './bench_wasm/comparison.mjs'
import { baselines, compareOthers, openJax, openTfjs } from './bench_wasm/other_libraries.mjs'
import { roundsOf } from './bench_wasm/rounds.mjs'
import { comparisonTable, ms, ratio, row, writeSection } from './bench_wasm/tables.mjs'
import { median } from './statistics.mjs'

const { values: options } = parseArgs({
  options: {
    threads: { type: 'string', default: '1' },
    int8: { type: 'boolean', default: false },
    others: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '7' },
    write: { type: 'boolean', default: false },
  },
})
const rounds = Number(options.rounds)
const threads = Number(options.threads)

async function comparison() {
  const ort = baselines('onnxruntime-web')
  ort.env.wasm.numThreads = threads
  const backends = {
    wasm: await openBackend('wasm', { threads }),
    avx2: await openBackend('cpu', { threads, instructionSet: 'avx2' }),
  }
  const results = []
  for (const of of CASES) results.push(await compare(of, ort, backends, rounds))
  const reasons = `${backends.wasm.reason}; onnxruntime-web ${ort.env.versions.web}, ${threads} ${threads === 1 ? 'thread' : 'threads'}; ${backends.avx2.reason}`
  for (const backend of Object.values(backends)) backend.dispose()
  return [
    `Node.js ${process.version}; ${reasons}. Medians of ${rounds} rounds, milliseconds.`,
    '',
    comparisonTable(results, { onnx: 'onnxruntime-web', avx2: 'AVX2' }),
  ].join('\n')
}

/** One step of a stream and a pass of 70 steps with each format of the weights. */
async function int8Comparison() {
  const rows = []
  let reason = ''
  for (const Cell of [CudnnLSTM, CudnnGRU]) {
    for (const H of [512, 1024]) {
      const runs = { step: {}, pass: {} }
      const backends = []
      for (const weights of ['float32', 'int8']) {
        const backend = await openBackend('wasm', { threads: 1, weights })
        backends.push(backend)
        reason = backend.reason
        const model = new Cell(backend, { numLayers: 1, numUnits: H, inputSize: H, inputMode: 'linear_input' })
        const params = model.createParams({ seed: 1 })
        const canonical = await model.paramsToCanonical(params)
        const stepper = backend.rnn(model.descriptor).stepper(params.value, 1)
        const x = wave(1, 1, H)
        runs.step[weights] = () => stepper.stepSync(x)
        runs.pass[weights] = ourPass(backend, { Cell, H }, { x: wave(70, 1, H), h: wave(1, 1, H) }, canonical)
      }
      for (const [name, title] of [
        ['step', '1 × 1'],
        ['pass', '1 × 70'],
      ]) {
        const times = await roundsOf(runs[name], rounds)
        const [exact, int8] = [median(times.float32), median(times.int8)]
        rows.push(row([`${cellName(Cell)} ${title} × ${H}`, ms(exact), ms(int8), ratio(int8 / exact)]))
      }
      for (const backend of backends) backend.dispose()
    }
  }
  return [
    `Node.js ${process.version}; ${reason}. Steps of a stream and passes of 70 steps; medians of ${rounds} rounds, milliseconds.`,
    '',
    row(['cell, B × T × H', 'float32', 'int8', 'ratio']),
    '|---|---|---|---|',
    ...rows,
  ].join('\n')
}

/** In Node.js both libraries compute on one thread: https://github.com/tensorflow/tfjs/issues/3830. */
async function othersComparison() {
  const backend = await openBackend('wasm', { threads })
  const libraries = { tfjs: await openTfjs(), jax: await openJax(baselines) }
  const results = await compareOthers(backend, libraries, rounds)
  const titles = { tfjs: libraries.tfjs.title, jax: libraries.jax.title }
  const { reason } = backend
  backend.dispose()
  return [
    `Node.js ${process.version}; ${reason}. One LSTM layer; training is a forward and its backward. Medians of ${rounds} rounds, milliseconds.`,
    '',
    comparisonTable(results, titles),
  ].join('\n')
}

const table = options.int8 ? await int8Comparison() : options.others ? await othersComparison() : await comparison()
console.log(table)
const section = options.int8 ? 'int8' : `${options.others ? 'others ' : ''}threads ${threads}`
if (options.write) writeSection(section, table)
