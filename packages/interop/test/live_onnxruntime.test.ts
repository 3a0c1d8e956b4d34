import { elementCount } from '@cudnn-rnn/canonical'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { expect, it } from 'vitest'
import { exportWeights, importWeights } from '../src/index.js'
import { expectClose, fixtureBytes, fixtureJson, type Numbers } from './fixture.js'

const { cases } = fixtureJson<{
  readonly cases: Readonly<Record<string, { readonly input: Numbers; readonly output: Numbers }>>
}>('pytorch/expected.json')

it.each(['lstm_2_layers_bidirectional', 'gru', 'rnn_relu', 'rnn_tanh_no_bias'])(
  'exportWeights: %s in ONNX Runtime agrees with PyTorch',
  async (name) => {
    const cellMode = name === 'rnn_relu' ? 'rnn_relu' : 'rnn_tanh'
    const { networks } = await importWeights(fixtureBytes(`pytorch/${name}.safetensors`), { cellMode })
    const session = await InferenceSession.create(await exportWeights(networks, { format: 'onnx' }))
    const { input, output } = cases[name]!
    const { numLayers, numUnits, direction } = networks[0]!.descriptor
    const shape = [numLayers * (direction === 'bidirectional' ? 2 : 1), input.shape[1]!, numUnits]
    const zeros = () => new Tensor('float32', new Float32Array(elementCount(shape)), shape)
    const given = new Tensor('float32', Float32Array.from(input.data), input.shape)
    const states = session.inputNames.slice(1).map((state) => [state, zeros()] as const)
    const { output: computed } = await session.run({ input: given, ...Object.fromEntries(states) })
    await session.release()
    expect(computed!.type).toBe('float32')
    expectClose({ data: computed!.data as Float32Array, shape: computed!.dims }, output)
  },
)
