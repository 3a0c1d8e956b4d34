import { describe, expect, it } from 'vitest'
import { exportWeights, importWeights, stackNetworks } from '../src/index.js'
import { compute, expectClose, fixtureBytes, fixtureJson, type Numbers } from './fixture.js'

// PyTorch's results; Keras's own numbers for these files are in fixtures/interop/README.md.
const { cases } = fixtureJson<{
  readonly cases: Readonly<Record<string, { readonly input: Numbers; readonly output: Numbers }>>
}>('pytorch/expected.json')

describe.each(['lstm_2_layers_bidirectional', 'gru', 'rnn_relu'])('exportWeights of %s for Keras', (name) => {
  it('writes layers that are imported as a network that computes the same', async () => {
    const cellMode = 'rnn_relu'
    const { networks } = await importWeights(fixtureBytes(`pytorch/${name}.safetensors`), { cellMode })
    const bytes = await exportWeights(networks, { format: 'keras' })
    const again = stackNetworks((await importWeights(bytes, { cellMode })).networks)
    expect(again.descriptor).toEqual(networks[0]!.descriptor)
    expectClose((await compute(again, cases[name]!.input)).output, cases[name]!.output)
  })
})

it('exportWeights writes the layers around a network under the names Keras gives them', async () => {
  const { networks } = await importWeights(fixtureBytes('pytorch/gru.safetensors'))
  const embedding = { data: new Float32Array(21), shape: [7, 3] }
  const dense = {
    kernel: { data: new Float32Array(28), shape: [4, 7] },
    bias: { data: new Float32Array(7), shape: [7] },
  }
  const bytes = await exportWeights([{ ...networks[0]!, embedding, dense }], { format: 'keras' })
  const { unusedTensors } = await importWeights(bytes)
  expect(unusedTensors.map(({ name }) => name)).toEqual([
    'layers/dense/vars/0',
    'layers/dense/vars/1',
    'layers/embedding/vars/0',
  ])
})
