import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Backend,
  type BackendName,
  exportWeights,
  importWeights,
  inspectBackends,
  openBackend,
  type LayersModel,
} from '@cudnn-rnn/rnn'
import { openWeightFile, stackNetworks } from '@cudnn-rnn/rnn/interop'
import { Vocabulary } from '@cudnn-rnn/rnn/train'
import { expect, it } from 'vitest'
import { type CharModelSizes, charLanguageModel, recurrentLayer } from '../../src/character/char_language_model.js'
import { networkOfRun } from '../../src/run_networks.js'
import { sample } from '../../src/character/sampler.js'
import { smallRun, temporaryDirectory, trainCharacters, writeSmallText } from '../small_run.js'

// Made by fixtures/interop/run_onnxruntime.py from a run that this program trained and exported.
const fixture = (name: string) =>
  readFileSync(new URL(`../../../../fixtures/interop/character/${name}`, import.meta.url))
const exported = new Uint8Array(fixture('model.onnx'))
const { characters, sizes } = JSON.parse(String(fixture('run.json'))) as {
  readonly characters: readonly string[]
  readonly sizes: CharModelSizes
}
const greedy = JSON.parse(String(fixture('greedy.json'))) as { readonly prompt: string; readonly text: string }

/** The exported model, on an executor again. */
async function modelFrom(bytes: Uint8Array, backend: Backend): Promise<LayersModel> {
  const file = await openWeightFile(bytes)
  const read = async (name: string) => {
    const { shape, read } = file.tensors.find((tensor) => tensor.name === name)!
    return { data: await read(), shape }
  }
  const { weights, biases } = stackNetworks((await importWeights(file)).networks).canonical
  const model = charLanguageModel(backend, sizes, 1)
  const [embedding, params, kernel, bias] = model.variables
  params!.assign(await recurrentLayer(model).model.canonicalToParams(weights, biases))
  embedding!.assign(await read('embedding'))
  kernel!.assign(await read('dense_kernel'))
  bias!.assign(await read('dense_bias'))
  return model
}

const available = (await inspectBackends()).filter((report) => report.available).map(({ name }) => name)

it.each(available)('an exported run writes on %s the greedy text that ONNX Runtime writes', async (name) => {
  const backend = await openBackend(name as BackendName)
  const model = await modelFrom(exported, backend)
  let text = ''
  const options = { length: greedy.text.length, temperature: 0, seed: 1, prompt: greedy.prompt }
  for await (const character of sample(model, new Vocabulary(characters), options)) text += character
  model.dispose()
  backend.dispose()
  expect(text).toBe(greedy.text)
})

it('networkOfRun gives the trained tensors, as the checkpoint of the run has them and its export brings back', async () => {
  const directory = await temporaryDirectory()
  const settings = smallRun(await writeSmallText(directory), { numLayers: 2 })
  const { run } = await trainCharacters(directory, 'reference', settings)
  run.dispose()
  const network = await networkOfRun(directory)
  const { networks } = await importWeights(join(directory, 'model-8'))
  expect(networks.find(({ name }) => name === 'lstm')?.canonical).toEqual(network.canonical)
  const again = await importWeights(await exportWeights([network], { format: 'onnx' }))
  expect(stackNetworks(again.networks).canonical).toEqual(network.canonical)
})
