// Runs the models of https://github.com/tensorflow/tfjs-examples from their own sources, on TensorFlow.js and accelerated:
//   git clone --depth 1 https://github.com/tensorflow/tfjs-examples
//   node scripts/testing/run_tfjs_examples.mjs tfjs-examples
// The sources are not changed. If a function is not exported, a line at their end exports it; packages of their pages, such
// as charts, are empty. The numbers come from a few updates from the same weights on the same batch. Build first: npm run build.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as esbuild from 'esbuild'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('Cannot run the examples as their folder must be given')
const require = createRequire(fileURLToPath(new URL('../../packages/tfjs/package.json', import.meta.url)))
const tf = require('@tensorflow/tfjs')
const { openCpuBackend } = require('@cudnn-rnn/cpu')
const { accelerate } = require('@cudnn-rnn/tfjs')
tf.env().set('PROD', true)

const BATCH = 4
const UPDATES = 3
/** Tolerances of a prediction, and of losses after updates, whose rounding errors rmsprop and adam divide by small numbers. */
const TOLERANCE = { prediction: 1e-5, loss: 1e-3 }

const wave = (shape, factor) =>
  tf.tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, k) => Math.sin(factor * (k + 1))),
    shape,
  )
const ids = (time, size) =>
  tf
    .floor(
      wave([BATCH, time], 1.7)
        .abs()
        .mul(size - 1),
    )
    .add(1)
    .cast('float32')
const oneHot = (time, size) => tf.oneHot(ids(time, size).cast('int32').sub(1).cast('int32'), size).cast('float32')
const classes = (size) => oneHot(1, size).reshape([BATCH, size])

const addition = (rnnType) => ({
  file: 'addition-rnn/index.js',
  exported: ['createAndCompileModel'],
  make: ({ createAndCompileModel }) => createAndCompileModel(1, 32, rnnType, 2, 12),
  data: () => [oneHot(5, 12), oneHot(3, 12)],
})
const sentiment = (modelType) => ({
  file: 'sentiment/train.js',
  make({ buildModel }) {
    const model = buildModel(modelType, 20, 50, 16)
    model.compile({ loss: 'binaryCrossentropy', optimizer: 'adam', metrics: ['acc'] })
    return model
  },
  data: () => [ids(20, 50), tf.tensor2d([[0], [1], [1], [0]])],
})

/** Sources of examples: how their own functions make a model, and a batch for it. */
const EXAMPLES = {
  'addition-rnn, SimpleRNN': addition('SimpleRNN'),
  'addition-rnn, GRU': addition('GRU'),
  'addition-rnn, LSTM': addition('LSTM'),
  'date-conversion-attention': {
    file: 'date-conversion-attention/model.js',
    make: ({ createModel }) => createModel(35, 13, 12, 10),
    data: () => [[ids(12, 35), ids(10, 13)], oneHot(10, 13)],
  },
  'jena-weather, gru': {
    file: 'jena-weather/models.js',
    make: ({ buildModel }) => buildModel('gru', 24, 14),
    data: () => [wave([BATCH, 24, 14], 0.37), wave([BATCH, 1], 0.9)],
  },
  'lstm-text-generation': {
    file: 'lstm-text-generation/model.js',
    make({ createModel, compileModel }) {
      const model = createModel(20, 30, [32, 24])
      compileModel(model, 0.01)
      return model
    },
    data: () => [oneHot(20, 30), classes(30)],
  },
  'sentiment, simpleRNN': sentiment('simpleRNN'),
  'sentiment, lstm': sentiment('lstm'),
  'sentiment, bidirectionalLSTM': sentiment('bidirectionalLSTM'),
}

/** The exports of an example's source, on this script's TensorFlow.js. */
async function load({ file, exported = [] }) {
  const path = resolve(folder, file)
  const { outputFiles } = await esbuild.build({
    stdin: {
      contents: `${readFileSync(path, 'utf8')}\n${exported.length === 0 ? '' : `export { ${exported.join(', ')} }`}`,
      resolveDir: dirname(path),
    },
    ...{ bundle: true, format: 'cjs', platform: 'node', write: false, logLevel: 'error', plugins: [onlyOwnFiles] },
  })
  const module = { exports: {} }
  const element = { addEventListener: () => undefined }
  const page = { getElementById: () => element, querySelector: () => element }
  const quiet = { ...console, log: () => undefined }
  new Function('module', 'exports', 'require', 'document', 'console', outputFiles[0].text)(
    ...[module, module.exports, (name) => (name === '@tensorflow/tfjs' ? tf : {}), page, quiet],
  )
  return module.exports
}

/** Files of the example are read; packages but TensorFlow.js, and files that are made by its build, are empty. */
const onlyOwnFiles = {
  name: 'only-own-files',
  setup(build) {
    build.onResolve({ filter: /.*/ }, ({ path, resolveDir, kind }) => {
      if (kind === 'entry-point') return undefined
      const isOwn = path.startsWith('.') && [path, `${path}.js`].some((name) => existsSync(join(resolveDir, name)))
      return isOwn ? undefined : { path, external: true }
    })
  },
}

/** The prediction before updates, their losses, and who computed each recurrent layer. */
async function train(example, module, backend) {
  const acceleration = backend && accelerate(tf, backend)
  const log = console.log
  try {
    // model.summary() of the examples.
    console.log = () => undefined
    const model = example.make(module)
    model.setWeights(model.getWeights().map(({ shape }, index) => wave(shape, 1.3 + index).mul(0.2)))
    const [x, y] = example.data()
    const prediction = await model.predict(x).data()
    const losses = []
    for (let update = 0; update < UPDATES; update++) losses.push([await model.trainOnBatch(x, y)].flat()[0])
    return { prediction, losses, computedBy: acceleration?.report().map((report) => report.computedBy) }
  } finally {
    console.log = log
    acceleration?.dispose()
  }
}

const difference = (found, expected) =>
  expected.reduce((most, value, k) => Math.max(most, Math.abs(value - found[k]) / Math.max(1, Math.abs(value))), 0)

const backend = openCpuBackend({ threads: 1 })
let failures = 0
for (const [name, example] of Object.entries(EXAMPLES)) {
  try {
    const module = await load(example)
    const expected = await train(example, module)
    const found = await train(example, module, backend)
    const differences = {
      prediction: difference(found.prediction, expected.prediction),
      loss: difference(found.losses, expected.losses),
    }
    const isAccelerated = found.computedBy.length > 0 && found.computedBy.every((by) => by === 'cpu')
    const isClose = Object.entries(TOLERANCE).every(([of, most]) => differences[of] <= most)
    if (!isAccelerated || !isClose || expected.losses.some((loss) => !Number.isFinite(loss))) failures++
    const figures = Object.entries(differences).map(([of, value]) => `${of} ${value.toExponential(1)}`)
    console.log(
      `${name}: ${figures.join(', ')}; ${found.computedBy.length} layers by ${[...new Set(found.computedBy)]}`,
    )
  } catch (error) {
    failures++
    console.error(`${name}: ${error.stack}`)
  }
}
backend.dispose()
console.log(`Examples of TensorFlow.js: ${Object.keys(EXAMPLES).length} models, ${failures} failures`)
process.exitCode = failures === 0 ? 0 : 1
