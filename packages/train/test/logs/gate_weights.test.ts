import { CudnnLSTM } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { gateWeights } from '../../src/index.js'

it('gateWeights names every matrix inside an opaque buffer', async () => {
  using backend = openReferenceBackend()
  const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 3, inputSize: 2, direction: 'bidirectional' })
  const params = lstm.createParams({ seed: 1 })
  const { weights } = await lstm.paramsToCanonical(params)
  const named = await gateWeights(lstm, params.value)
  expect(named.map(({ name }) => name)).toEqual(
    ['forward', 'backward'].flatMap((direction) =>
      ['input', 'recurrent'].flatMap((side) =>
        ['input', 'forget', 'new_memory', 'output'].map((gate) => `layer_0/${direction}/${side}/${gate}`),
      ),
    ),
  )
  expect(named.map(({ values }) => values)).toEqual(weights.map(({ data }) => data))
})
