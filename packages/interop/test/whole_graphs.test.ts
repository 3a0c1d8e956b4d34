import { elementCount } from '@cudnn-rnn/canonical'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { expect, it } from 'vitest'
import { importWeights, openWeightFile } from '../src/index.js'
import { isRecurrent } from '../src/networks/onnx_operators.js'
import { compute, expectClose, type Numbers } from './fixture.js'
import { describeWithModels, modelBytes, modelPath } from '../../../scripts/testing/trained_models.mjs'

/** Differences of float32 sums of some hundred terms. */
const TOLERANCE = 2e-5

/** A field of bytes of protobuf. */
function field(number: number, bytes: Uint8Array): Buffer {
  const length: number[] = []
  for (let rest = bytes.length; length.length === 0 || rest > 0; rest >>= 7)
    length.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0))
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes])
}

/** A model with more outputs: a second graph field (7) of outputs (12), which parsers merge with the first. */
function withOutputs(model: Uint8Array, names: readonly string[]): Uint8Array {
  const outputs = names.map((name) => field(12, field(1, Buffer.from(name))))
  return Buffer.concat([model, field(7, Buffer.concat(outputs))])
}

/** Numbers for an input of a graph; sizes that the graph leaves open are 3. */
function given({ shape, type }: { readonly shape: readonly (number | string)[]; readonly type: string }): Tensor {
  const sizes = shape.map((size) => (typeof size === 'number' ? size : 3))
  const count = elementCount(sizes)
  if (type === 'uint8')
    return new Tensor(
      'uint8',
      Uint8Array.from({ length: count }, (_, k) => (k * 37) % 256),
      sizes,
    )
  return new Tensor(
    'float32',
    Float32Array.from({ length: count }, (_, k) => Math.sin(k)),
    sizes,
  )
}

const numbersOf = ({ data, dims }: Tensor): Numbers => ({ data: [...(data as Float32Array)], shape: dims })

/** Y [T,D,B,H] as [T,B,D·H]. */
function beside({ data, shape }: Numbers): Numbers {
  const [T, D, B, H] = shape as [number, number, number, number]
  const moved = data.map((_, k) => {
    const [h, d, b, t] = [k % H, Math.floor(k / H) % D, Math.floor(k / (H * D)) % B, Math.floor(k / (H * D * B))]
    return data[((t * D + d) * B + b) * H + h]!
  })
  return { data: moved, shape: [T, B, D * H] }
}

describeWithModels('importWeights of whole graphs', () => {
  it.each([
    ['6_whole_graphs/dfn3_encoder/model.onnx', 1],
    ['6_whole_graphs/mlagents_hallway/model.onnx', 1],
    ['6_whole_graphs/nnsplit_byte_bilstm/model.onnx', 2],
    ['6_whole_graphs/aircraft_rul_lstm/model.onnx', 2],
    ['6_whole_graphs/gtcrn_stream_simple/model.onnx', 14],
    ['2_dtln/model_1.onnx', 2],
  ])('gives networks with the outputs of the nodes of %s in ONNX Runtime', async (path, count) => {
    const { networks } = await importWeights(modelPath(path))
    await using file = await openWeightFile(modelPath(path))
    const nodes = file.onnx!.graph.nodes.filter(isRecurrent)
    expect([networks.length, nodes.length]).toEqual([count, count])
    const wanted = nodes.flatMap(({ inputs, outputs }) => [inputs[0], inputs[5], inputs[6], outputs[0]])
    const names = [...new Set(wanted)].filter((name) => name !== undefined && name !== '') as string[]
    const session = await InferenceSession.create(withOutputs(modelBytes(path), names))
    try {
      const feeds = session.inputMetadata.map((input) => [input.name, given(input as never)] as const)
      const values = await session.run(Object.fromEntries(feeds), names)
      for (const [index, { inputs, outputs }] of nodes.entries()) {
        const [x, h, c, y] = [inputs[0]!, inputs[5]!, inputs[6]!, outputs[0]!].map(
          (name) => values[name] && numbersOf(values[name]),
        )
        const network = networks[index]!
        expect(network.reverse).toBe(false)
        const { output } = await compute(network, x!, { ...(h && { h: floats(h) }), ...(c && { c: floats(c) }) })
        expectClose(output, beside(y!), TOLERANCE)
      }
    } finally {
      await session.release()
    }
  })
})

const floats = ({ data, shape }: Numbers) => ({ data: Float64Array.from(data), shape })
