import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  CudnnGRU,
  CudnnLSTM,
  exportWeights,
  type ImportedNetwork,
  importWeights,
  modelFromNetwork,
} from '../src/index.js'

async function importedLstm(backend: ReturnType<typeof openReferenceBackend>) {
  using lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 4, inputSize: 3 })
  using params = lstm.createParams({ seed: 1 })
  const canonical = await lstm.paramsToCanonical(params)
  const { descriptor } = lstm
  const file = await exportWeights([{ name: 'encoder', descriptor, canonical }], { format: 'safetensors' })
  return (await importWeights(file)).network()
}

test('a class gives the model its type: call without narrowing', async () => {
  using backend = openReferenceBackend()
  const { model, params, run } = modelFromNetwork(backend, await importedLstm(backend), CudnnLSTM)
  const x = { data: new Float32Array(5 * 2 * 3).fill(0.3), shape: [5, 2, 3] }
  const { output, outputC } = await model.call(x, null, null, params, { isTraining: false })
  const expected = await run(x)
  expect((await output.read()).data).toEqual(expected.output.data)
  expect((await outputC.read()).data).toEqual(expected.outputC?.data)
})

test('refuses the network that a file lacks', () => {
  using backend = openReferenceBackend()
  const networks: readonly ImportedNetwork[] = []
  expect(() => modelFromNetwork(backend, networks[0])).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
})

test.each([
  ['another class', CudnnGRU, 'ERR_OTHER_CELL'],
  ['no model', Map, 'ERR_INVALID_OPTION'],
  ['a name', 'CudnnLSTM', 'ERR_INVALID_ARGUMENT'],
])('refuses %s in its place, and leaves no tensor', async (_, modelClass, code) => {
  using backend = openReferenceBackend()
  const network = await importedLstm(backend)
  const { tensors } = backend.stats()
  expect(() => modelFromNetwork(backend, network, modelClass as never)).toThrow(coded(code))
  expect(backend.stats().tensors).toBe(tensors)
})
