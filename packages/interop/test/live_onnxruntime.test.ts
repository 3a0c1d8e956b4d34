import { createRequire } from 'node:module'
import { describe, it } from 'vitest'
import { exportWeights, importWeights } from '../src/index.js'
import { expectClose, fixtureBytes, fixtureJson, type Numbers } from './fixture.js'

/** The little that is used of onnxruntime-node, which is no dependency: the benchmark installs it among its peers. */
interface OnnxRuntime {
  readonly Tensor: new (type: 'float32', data: Float32Array, dims: readonly number[]) => OnnxTensor
  readonly InferenceSession: { create(model: Uint8Array): Promise<OnnxSession> }
}
interface OnnxTensor {
  readonly data: Float32Array
  readonly dims: readonly number[]
}
interface OnnxSession {
  readonly inputNames: readonly string[]
  run(feeds: Readonly<Record<string, OnnxTensor>>): Promise<Readonly<Record<string, OnnxTensor>>>
}

const ort = onnxRuntime()
const { cases } = fixtureJson<{
  readonly cases: Readonly<Record<string, { readonly input: Numbers; readonly output: Numbers }>>
}>('pytorch/expected.json')
const title = 'exportWeights, run in ONNX Runtime here and now'

describe.skipIf(ort === undefined)(ort === undefined ? `${title} (skipped: not among apps/bench/peers)` : title, () => {
  it.each(['lstm_2_layers_bidirectional', 'gru', 'rnn_relu'])('%s computes what PyTorch does', async (name) => {
    const { InferenceSession, Tensor } = ort!
    const { networks } = await importWeights(fixtureBytes(`pytorch/${name}.safetensors`), { cellMode: 'rnn_relu' })
    const session = await InferenceSession.create(await exportWeights(networks, { format: 'onnx' }))
    const { input, output } = cases[name]!
    const { numLayers, numUnits, direction } = networks[0]!.descriptor
    const shape = [numLayers * (direction === 'bidirectional' ? 2 : 1), input.shape[1]!, numUnits]
    const zeros = () => new Tensor('float32', new Float32Array(shape.reduce((a, b) => a * b)), shape)
    const given = new Tensor('float32', Float32Array.from(input.data), input.shape)
    const states = session.inputNames.slice(1).map((state) => [state, zeros()] as const)
    const result = await session.run({ input: given, ...Object.fromEntries(states) })
    expectClose({ data: result['output']!.data, shape: result['output']!.dims }, output)
  })
})

function onnxRuntime(): OnnxRuntime | undefined {
  try {
    return createRequire(new URL('../../../apps/bench/peers/package.json', import.meta.url))('onnxruntime-node')
  } catch {
    return undefined
  }
}
