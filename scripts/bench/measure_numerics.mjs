// Prints the tables of docs/numerics.md: errors of the CPU executor's activations, results and gradients, on every
// instruction set of this processor, against float64:
//   npm run build && node scripts/bench/measure_numerics.mjs
import { createRequire } from 'node:module'
import { thisPlatform } from '../build/platforms.mjs'

const built = (name) => import(new URL(`../../packages/${name}`, import.meta.url))
const [{ openCpuBackend }, { openReferenceBackend }, { Philox }, { CELL_MODES, createRnnDescriptor, paramRegions }] =
  await Promise.all(
    ['cpu/dist/index.js', 'reference/dist/index.js', 'ops/dist/executor.js', 'canonical/dist/index.js'].map(built),
  )
const addon = createRequire(import.meta.url)(`../../native/cpu/prebuilds/${thisPlatform()}/cudnn_rnn_cpu.node`)
const instructionSets = addon.instructionSets()

const DTYPES = { float32: { array: Float32Array, digits: 23 }, float64: { array: Float64Array, digits: 52 } }

// Exact values: integers that count 2^-256, of which no float64 that occurs here loses a bit.
const BITS = 256
const ONE = 1n << BigInt(BITS)
const fixed = (x) => BigInt(x * 2 ** 120) << BigInt(BITS - 120)
const times = (a, b) => (a * b) >> BigInt(BITS)

/** e^x of a fixed-point number: the series of e^(x / 2^16), squared 16 times. */
function exp(x) {
  const reduced = x >> 16n
  let term = ONE
  let sum = ONE
  for (let k = 1n; k <= 14n; k++) {
    term = times(term, reduced) / k
    sum += term
  }
  for (let k = 0; k < 16; k++) sum = times(sum, sum)
  return sum
}

const ACTIVATIONS = {
  sigmoid(x) {
    const power = exp(fixed(x))
    return (power * ONE) / (power + ONE)
  },
  tanh(x) {
    const power = exp(2n * fixed(Math.abs(x)))
    return BigInt(Math.sign(x)) * (((power - ONE) * ONE) / (power + ONE))
  },
}

/** The largest error of an activation on each instruction set, in units of the last place of the result. */
function activationErrors(dtype, name) {
  const { array: Floats, digits } = DTYPES[dtype]
  const count = 1 << 16
  const x = Floats.from({ length: count }, (_, k) => (k % 2 ? -1 : 1) * 1e-6 * 4e7 ** (k / count))
  const exact = Array.from(x, ACTIVATIONS[name])
  return instructionSets.map((instructionSet) => {
    const y = x.slice()
    addon.activation(instructionSet, name, y)
    return y.reduce((worst, value, k) => {
      const unit = 2 ** (Math.floor(Math.log2(Math.abs(Number(exact[k])))) - digits)
      return Math.max(worst, Math.abs(Number(fixed(value) - exact[k])) / unit)
    }, 0)
  })
}

/** Two layers in both directions, with projection in the LSTM; B 8, T 50, H and I 128; uniform numbers in ±scale. */
const SIZE = { time: 50, batch: 8, units: 128 }

function uniform(random, shape, scale) {
  const length = shape.reduce((a, b) => a * b, 1)
  return { data: Float32Array.from({ length }, () => scale * (2 * random.uniform() - 1)), shape }
}

/** Results and gradients of one pass by name. Every input is exact in float32. */
async function run(backend, cellMode, training) {
  const { time, batch, units } = SIZE
  const descriptor = createRnnDescriptor({
    ...{ cellMode, numLayers: 2, numUnits: units, inputSize: units, inputMode: 'linear_input' },
    ...{ direction: 'bidirectional', ...(cellMode === 'lstm' && { numProj: 64 }) },
  })
  const random = new Philox(1)
  const draw = (shape, scale) => {
    const { data } = uniform(random, shape, scale)
    return { data: backend.dtype === 'float64' ? Float64Array.from(data) : data, shape }
  }
  const { weights, biases } = paramRegions(descriptor)
  const scale = 1 / Math.sqrt(units)
  const rnn = backend.rnn(descriptor)
  const params = rnn.canonicalToParams({
    weights: weights.map(({ shape }) => draw(shape, scale)),
    biases: biases.map(({ shape }) => draw(shape, scale)),
  })
  const input = draw([time, batch, units], 1)
  const result = await rnn.forward({ input, inputH: null, inputC: null, params, sequenceLengths: null, training })
  const output = (await result.output.read()).data
  if (!training) return { output }
  const gradients = await rnn.backward(result.tape, { output: draw(result.output.shape, 1) })
  const canonical = await rnn.paramsToCanonical(gradients.params)
  return {
    output,
    'input gradient': (await gradients.input.read()).data,
    'weight gradients': canonical.weights.flatMap(({ data }) => Array.from(data)),
    'bias gradients': canonical.biases.flatMap(({ data }) => Array.from(data)),
  }
}

/** The largest difference divided by the largest magnitude. */
function relativeError(actual, expected) {
  let [error, magnitude] = [0, 0]
  for (let k = 0; k < expected.length; k++) {
    error = Math.max(error, Math.abs(actual[k] - expected[k]))
    magnitude = Math.max(magnitude, Math.abs(expected[k]))
  }
  return error / magnitude
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  console.log([line(head), line(head.map(() => '---')), ...rows.map(line), ''].join('\n'))
}

const kinds = Object.keys(DTYPES).flatMap((dtype) => Object.keys(ACTIVATIONS).map((name) => [dtype, name]))
const errors = kinds.map(([dtype, name]) => activationErrors(dtype, name))
table(
  ['units in the last place', ...kinds.map(([dtype, name]) => `${name} ${dtype}`)],
  instructionSets.map((instructionSet, index) => [instructionSet, ...errors.map((each) => each[index].toFixed(2))]),
)

const executors = [
  ...Object.keys(DTYPES).flatMap((dtype) =>
    instructionSets.map((instructionSet) => [
      `${dtype} ${instructionSet}`,
      () => openCpuBackend({ dtype, instructionSet }),
    ]),
  ),
  ['float32 reference', () => openReferenceBackend({ dtype: 'float32' })],
]
const narrow = ['bfloat16', 'int8'].flatMap((weights) =>
  instructionSets.map((instructionSet) => [
    `${weights} ${instructionSet}`,
    () => openCpuBackend({ weights, instructionSet }),
  ]),
)
for (const training of [true, false]) {
  const rows = new Map()
  const parts = new Set()
  for (const cellMode of Object.keys(CELL_MODES)) {
    const expected = await run(openReferenceBackend({ dtype: 'float64' }), cellMode, training)
    for (const [title, open] of training ? executors : narrow) {
      const backend = open()
      const found = rows.get(title) ?? rows.set(title, {}).get(title)
      for (const [part, values] of Object.entries(await run(backend, cellMode, training))) {
        const column = training ? part : cellMode
        found[column] = Math.max(found[column] ?? 0, relativeError(values, expected[part]))
        parts.add(column)
      }
      backend.dispose()
    }
  }
  table(
    [training ? 'largest of the four cells' : 'output', ...parts],
    [...rows].map(([title, found]) => [title, ...[...parts].map((part) => found[part].toExponential(1))]),
  )
}
