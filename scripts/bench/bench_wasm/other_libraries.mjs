// An LSTM layer of TensorFlow.js and of jax-js, both on WebAssembly, with the weights of one of our networks.
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { canonicalToKeras } from '../../../packages/rnn/dist/canonical.js'
import { CudnnLSTM } from '../../../packages/rnn/dist/index.js'
import { median } from '../statistics.mjs'
import { ourPass, wave } from './comparison.mjs'
import { roundsOf } from './rounds.mjs'

const GATES = 4
/** Outputs of the libraries agree as far as their approximations of exp do. */
const TOLERANCE = 1e-3

/** [T,B,I] as [B,T,I]. */
function batchMajor({ data, shape: [T, B, I] }) {
  const turned = new Float32Array(data.length)
  for (let t = 0; t < T; t++) {
    for (let b = 0; b < B; b++) turned.set(data.subarray((t * B + b) * I, (t * B + b + 1) * I), (b * T + t) * I)
  }
  return turned
}

/** Each gives the last output [B,H]; or, of ½ of the sum of its squares, the gradient of the recurrent matrix as it stores it. */
export async function openTfjs() {
  const packages = createRequire(new URL('../../../packages/tfjs/package.json', import.meta.url))
  const tf = packages('@tensorflow/tfjs')
  const { setWasmPaths } = packages('@tensorflow/tfjs-backend-wasm')
  tf.env().set('PROD', true)
  setWasmPaths(`${dirname(packages.resolve('@tensorflow/tfjs-backend-wasm'))}/`)
  if (!(await tf.setBackend('wasm'))) throw new Error('Cannot compare as TensorFlow.js has no backend wasm')
  const layerOf = (H, { kernel, recurrent_kernel, bias }) => {
    // Zeros, as the default matrix takes minutes to make.
    const layer = tf.layers.lstm({ units: H, recurrentActivation: 'sigmoid', recurrentInitializer: 'zeros' })
    tf.tidy(() => layer.apply(tf.zeros([1, 1, H])))
    layer.setWeights([kernel, recurrent_kernel, bias].map(({ data, shape }) => tf.tensor(data, shape)))
    return layer
  }
  return {
    title: `TensorFlow.js ${tf.version.tfjs}`,
    inference({ H, B, T }, x, weights) {
      const layer = layerOf(H, weights)
      const input = tf.tensor3d(batchMajor(x), [B, T, H])
      return async () => {
        const output = tf.tidy(() => layer.apply(input))
        const data = await output.data()
        output.dispose()
        return data
      }
    },
    training({ H, B, T }, x, weights) {
      const layer = layerOf(H, weights)
      const input = tf.tensor3d(batchMajor(x), [B, T, H])
      const variables = layer.trainableWeights.map(({ val }) => val)
      return async () => {
        const { value, grads } = tf.tidy(() => {
          const loss = () => layer.apply(input, { training: true }).square().sum().mul(0.5)
          return tf.variableGrads(loss, variables)
        })
        const data = await grads[variables[1].name].data()
        tf.dispose([value, grads])
        return data
      }
    },
  }
}

/** jax-js has no loop among its operations: inference calls a compiled step, and training a function of all steps. */
export async function openJax(baselines) {
  // Its CommonJS file is of another build.
  const entry = pathToFileURL(baselines.resolve('@jax-js/jax').replace(/\.cjs$/, '.js')).href
  const { defaultDevice, init, jit, nn, numpy: np, valueAndGrad, blockUntilReady } = await import(entry)
  await init('wasm')
  defaultDevice('wasm')
  const array = (data, shape) => np.array(data).reshape(shape)
  const parametersOf = ({ kernel, recurrent_kernel, bias }) =>
    [kernel, recurrent_kernel, bias].map(({ data, shape }) => array(data, shape))
  const references = (arrays) => arrays.map((each) => each.ref)
  const stepOf = (H) => (x, h, c, kernel, recurrent, bias) => {
    const sums = np.matmul(x, kernel).add(np.matmul(h, recurrent)).add(bias)
    const gate = (index) => (index < GATES - 1 ? sums.ref : sums).slice([], [index * H, (index + 1) * H])
    const [i, f, g, o] = [nn.sigmoid(gate(0)), nn.sigmoid(gate(1)), np.tanh(gate(2)), nn.sigmoid(gate(3))]
    const cell = f.mul(c).add(i.mul(g))
    return [o.mul(np.tanh(cell.ref)), cell]
  }
  const states = (B, H) => [np.zeros([B, H]), np.zeros([B, H])]
  return {
    title: 'jax-js',
    inference({ H, B, T }, x, weights) {
      const parameters = parametersOf(weights)
      const input = array(x.data, x.shape)
      const step = jit(stepOf(H))
      return async () => {
        let [h, c] = states(B, H)
        for (let t = 0; t < T; t++) [h, c] = step(input.ref.slice(t), h, c, ...references(parameters))
        c.dispose()
        return h.data()
      }
    },
    training({ H, B, T }, x, weights) {
      const parameters = parametersOf(weights)
      const input = array(x.data, x.shape)
      const step = stepOf(H)
      const loss = (given, inputs) => {
        let [h, c] = states(B, H)
        for (let t = 0; t < T; t++) {
          ;[h, c] = step((t < T - 1 ? inputs.ref : inputs).slice(t), h, c, ...references(given))
        }
        return h.ref.mul(h).sum().mul(0.5)
      }
      const gradient = jit(valueAndGrad(loss))
      return async () => {
        const [value, gradients] = gradient(references(parameters), input.ref)
        await blockUntilReady([value, gradients])
        value.dispose()
        gradients[0].dispose()
        gradients[2].dispose()
        return gradients[1].data()
      }
    },
  }
}

async function ourTraining(backend, { H, B, T }, x, canonical) {
  const model = new CudnnLSTM(backend, { numLayers: 1, numUnits: H, inputSize: H, inputMode: 'linear_input' })
  const rnn = backend.rnn(model.descriptor)
  const params = await model.canonicalToParams(canonical.weights, canonical.biases)
  const last = (T - 1) * B * H
  return async () => {
    const pass = { input: x, inputH: null, inputC: null, params, sequenceLengths: null, training: true }
    const { output, outputH, outputC, tape } = await rnn.forward(pass)
    const dOutput = new Float32Array(T * B * H)
    dOutput.set((await output.read()).data.subarray(last), last)
    const gradients = await rnn.backward(tape, { output: { data: dOutput, shape: [T, B, H] } })
    for (const tensor of [output, outputH, outputC, gradients.input, gradients.inputH, gradients.inputC]) {
      tensor?.dispose()
    }
    return gradients.params
  }
}

const INFERENCE = [
  { H: 128, B: 1, T: 70 },
  { H: 128, B: 16, T: 70 },
  { H: 512, B: 1, T: 70 },
  { H: 512, B: 16, T: 70 },
]
const TRAINING = [{ H: 128, B: 32, T: 100 }]

/**
 * Median milliseconds of an LSTM on our executor and on each of `libraries` ({ name: opened }): { name, wasm, … } of inference
 * and of a forward with its backward. Throws if outputs or gradients differ.
 */
export async function compareOthers(backend, libraries, rounds) {
  const results = []
  for (const [kind, cases] of [
    ['inference', INFERENCE],
    ['training', TRAINING],
  ]) {
    for (const of of cases) {
      const { H, B, T } = of
      const x = wave(T, B, H)
      const model = new CudnnLSTM(backend, { numLayers: 1, numUnits: H, inputSize: H, inputMode: 'linear_input' })
      const canonical = await model.paramsToCanonical(model.createParams({ seed: 1 }))
      const h = { data: new Float32Array(B * H), shape: [1, B, H] }
      const ours =
        kind === 'inference'
          ? ourPass(backend, { Cell: CudnnLSTM, H }, { x, h }, canonical)
          : await ourTraining(backend, of, x, canonical)
      const passes = { wasm: ours }
      const [weights] = canonicalToKeras(model.descriptor, canonical)
      for (const [name, library] of Object.entries(libraries)) passes[name] = library[kind](of, x, weights)
      const expected =
        kind === 'inference' ? (await ours()).slice(-B * H) : await recurrentGradient(model, await ours())
      for (const [name, pass] of Object.entries(passes)) {
        if (name !== 'wasm') checkClose(`${libraries[name].title}, ${kind}`, await pass(), expected)
      }
      const times = await roundsOf(passes, rounds)
      const medians = Object.fromEntries(Object.entries(times).map(([name, list]) => [name, median(list)]))
      results.push({ name: `${kind} ${B} × ${T} × ${H}`, ...medians })
    }
  }
  return results
}

async function recurrentGradient(model, gradient) {
  const [{ recurrent_kernel }] = canonicalToKeras(model.descriptor, await model.paramsToCanonical(gradient))
  return recurrent_kernel.data
}

function checkClose(name, found, expected) {
  const scale = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  const difference = expected.reduce((most, value, k) => Math.max(most, Math.abs(value - found[k])), 0)
  if (difference <= TOLERANCE * scale) return
  throw new Error(`Cannot compare another network: ${name} differs by ${difference} of ${scale}`)
}

/** Packages of the folder of baselines, which `npm ci --prefix apps/bench/baselines` installs. */
export const baselines = createRequire(new URL('../../../apps/bench/baselines/package.json', import.meta.url))
