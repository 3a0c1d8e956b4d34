import type { CanonicalParams, Tensor } from '@cudnn-rnn/canonical'
import { CudnnLSTM } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { importWeights, openWeightFile, stackNetworks } from '../src/index.js'
import { compute, expectClose } from './fixture.js'
import { describeWithModels, modelPath } from '../../../scripts/testing/trained_models.mjs'

describeWithModels('importWeights of DTLN', () => {
  it('gives the same canonical tensors from model.h5 and model_1.onnx', async () => {
    const keras = await importWeights(modelPath('2_dtln/model.h5'))
    const onnx = await importWeights(modelPath('2_dtln/model_1.onnx'))
    const fromKeras = stackNetworks(keras.networks.slice(0, 2))
    const fromOnnx = stackNetworks(onnx.networks)
    expect(keras.networks.map(({ name }) => name)).toEqual(['lstm', 'lstm_1', 'lstm_2', 'lstm_3'])
    expect(onnx.networks).toHaveLength(2)
    expect(fromOnnx.descriptor).toEqual(fromKeras.descriptor)
    expect(fromOnnx.canonical.weights).toEqual(fromKeras.canonical.weights)
    // Keras keeps the sum of the two biases; ONNX has both, of which the exporter filled one.
    expect(biasSums(fromOnnx.canonical)).toEqual(biasSums(fromKeras.canonical))
  })
})

describeWithModels('importWeights of Silero VAD', () => {
  it('finds both LSTM nodes, whose weights the graph permutes, and the tensors of PyTorch on request', async () => {
    const path = modelPath('1_silero_vad_v6.2/silero_vad_16k_op15.onnx')
    const { networks } = await importWeights(path)
    const pytorch = await importWeights(path, { convention: 'pytorch' })
    expect(networks.map(({ name }) => name)).toEqual(['/model/decoder/rnn/LSTM', '/model/decoder/rnn_1/LSTM'])
    expect(pytorch.networks.map(({ name }) => name)).toEqual(['model.decoder.rnn'])
    for (const { canonical } of networks) expect(canonical).toEqual(pytorch.networks[0]!.canonical)
  })

  it('gives an LSTM that follows 625 steps of ONNX Runtime', async () => {
    const { networks } = await importWeights(modelPath('1_silero_vad_v6.2/silero_vad_16k_op15.onnx'))
    const [x, h, c] = [await read('x'), await read('h'), await read('c')]
    const input = { data: [...x], shape: [625, 1, 128] }
    const { output, c: finalC } = await compute(networks[0]!, input)
    expectClose(output, { data: [...h], shape: [625, 1, 128] }, 1e-4)
    expectClose(finalC!, { data: [...c.slice(624 * 128)], shape: [1, 1, 128] }, 1e-4)
  })

  it('gives an LSTM that a float32 stream steps through as well', async () => {
    const { networks } = await importWeights(modelPath('1_silero_vad_v6.2/silero_vad_16k_op15.onnx'))
    const [x, h] = [await read('x'), await read('h')]
    using backend = openReferenceBackend()
    using model = new CudnnLSTM(backend, { numLayers: 1, numUnits: 128, inputSize: 128, inputMode: 'linear_input' })
    const { weights, biases } = networks[0]!.canonical
    const params = await model.canonicalToParams(weights, biases)
    using stream = model.stream(params)
    let worst = 0
    for (let step = 0; step < 625; step++) {
      const y = stream.stepSync({ data: x.slice(step * 128, (step + 1) * 128), shape: [1, 128] })
      for (let k = 0; k < 128; k++) worst = Math.max(worst, Math.abs(y.data[k]! - h[step * 128 + k]!))
    }
    expect(worst).toBeLessThanOrEqual(1e-4)
  })
})

describeWithModels('importWeights of textgenrnn', () => {
  it('detects real CuDNNLSTM layers and lists the other tensors', async () => {
    const { networks, unusedTensors } = await importWeights(
      modelPath('3_textgenrnn_keras_CuDNNLSTM/textgenrnn_weights.hdf5'),
    )
    expect(networks.map(({ name, convention, descriptor }) => [name, convention, descriptor.inputSize])).toEqual([
      ['rnn_1', 'keras-cudnn', 100],
      ['rnn_2', 'keras-cudnn', 128],
    ])
    expect(unusedTensors.map(({ name }) => name).sort()).toEqual([
      'attention/attention/attention_W:0',
      'embedding/embedding/embeddings:0',
      'output/output/bias:0',
      'output/output/kernel:0',
    ])
  })
})

/** An array of the reference numbers of Silero VAD's LSTM. */
async function read(name: string): Promise<Float32Array> {
  const file = await openWeightFile(modelPath('1_silero_vad_v6.2/lstm_reference_20s.npz'))
  try {
    return (await file.tensors.find((tensor) => tensor.name === name)!.read()) as Float32Array
  } finally {
    await file.close()
  }
}

/** Sums of the input-side and recurrent biases of each gate, layer by layer. */
function biasSums({ biases }: CanonicalParams): readonly (readonly number[])[] {
  const gates = 4
  return biases.flatMap(({ data }: Tensor, index) => {
    if (index % (2 * gates) >= gates) return []
    return [Array.from(data, (value, unit) => Math.fround(value + biases[index + gates]!.data[unit]!))]
  })
}
