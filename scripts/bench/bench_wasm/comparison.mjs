// Inference of one layer on the wasm executor beside onnxruntime-web, in Node.js and in pages.
import { exportWeights } from '../../../packages/interop/dist/index.js'
import { CudnnGRU, CudnnLSTM } from '../../../packages/rnn/dist/index.js'
import { median } from '../statistics.mjs'
import { roundsOf } from './rounds.mjs'

/** LSTM and GRU, one layer, inputs as wide as the state. */
export const CASES = [CudnnLSTM, CudnnGRU].flatMap((Cell) =>
  [128, 512].flatMap((H) => [1, 16].flatMap((B) => [1, 70].map((T) => ({ Cell, H, B, T })))),
)

/** The name of a cell in tables. */
export const cellName = (Cell) => (Cell === CudnnLSTM ? 'LSTM' : 'GRU')

/** A tensor of numbers within -1…1. */
export const wave = (...shape) => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, k) => Math.sin(1.3 * k)),
  shape,
})

/** A pass of one of our executors, which gives the output. */
export function ourPass(backend, { Cell, H }, operands, canonicalParams) {
  const model = new Cell(backend, { numLayers: 1, numUnits: H, inputSize: H, inputMode: 'linear_input' })
  const rnn = backend.rnn(model.descriptor)
  const params = model.canonicalToParams(canonicalParams.weights, canonicalParams.biases)
  return async () => {
    const results = await rnn.forward({
      input: operands.x,
      inputH: operands.h,
      inputC: Cell === CudnnLSTM ? operands.h : null,
      params: await params,
      sequenceLengths: null,
      training: false,
    })
    const { data } = await results.output.read()
    for (const tensor of [results.output, results.outputH, results.outputC]) tensor?.dispose()
    return data
  }
}

async function onnxPass(ort, { Cell }, { x, h }, network) {
  const model = await exportWeights([network], { format: 'onnx' })
  const session = await ort.InferenceSession.create(model, { executionProviders: ['wasm'] })
  const tensor = ({ data, shape }) => new ort.Tensor('float32', data, shape)
  const feeds = { input: tensor(x), initial_h: tensor(h), ...(Cell === CudnnLSTM && { initial_c: tensor(h) }) }
  return async () => (await session.run(feeds)).output.data
}

/**
 * The median milliseconds of each executor of `backends` ({ wasm, … }) and of onnxruntime-web for one of `CASES`. Throws if
 * outputs differ.
 */
export async function compare(of, ort, backends, rounds) {
  const { Cell, H, B, T } = of
  const operands = { x: wave(T, B, H), h: wave(1, B, H) }
  const model = new Cell(backends.wasm, { numLayers: 1, numUnits: H, inputSize: H, inputMode: 'linear_input' })
  const canonical = await model.paramsToCanonical(model.createParams({ seed: 1 }))
  const network = { name: 'rnn', descriptor: model.descriptor, canonical }
  const passes = { onnx: await onnxPass(ort, of, operands, network) }
  for (const [name, backend] of Object.entries(backends)) passes[name] = ourPass(backend, of, operands, canonical)
  const ours = Float32Array.from(await passes.wasm())
  for (const pass of Object.values(passes)) {
    const theirs = await pass()
    const difference = ours.reduce((most, value, k) => Math.max(most, Math.abs(value - theirs[k])), 0)
    if (!(difference < 1e-4)) throw new Error(`Cannot compare other networks: outputs differ by ${difference}`)
  }
  const times = await roundsOf(passes, rounds)
  const medians = Object.fromEntries(Object.entries(times).map(([name, list]) => [name, median(list)]))
  return { name: `${cellName(Cell)} ${B} × ${T} × ${H}`, ...medians }
}
