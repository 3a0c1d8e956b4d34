import { join } from 'node:path'
import { exportWeights, importWeights, inspectBackends, openBackend, type Vocabulary } from '@cudnn-rnn/rnn'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { expect, it } from 'vitest'
import { networkOfRun } from '../../src/character/exported_run.js'
import { sample } from '../../src/character/sampler.js'
import { restoreModel, TrainingRun } from '../../src/character/training_run.js'
import { smallRun, temporaryDirectory, writeSmallText } from '../small_run.js'

const LENGTH = 40
const PROMPT = 'call'

async function trainedRun(): Promise<string> {
  const directory = await temporaryDirectory()
  const settings = smallRun(await writeSmallText(directory), { steps: 30, numLayers: 2 })
  const run = await TrainingRun.create(join(directory, 'run'), 'reference', settings)
  await run.run({ quiet: true, signal: new AbortController().signal })
  run.dispose()
  return join(directory, 'run')
}

/** Greedy text of the exported model, one character at a time through ONNX Runtime. */
async function writtenByOnnxRuntime(model: Uint8Array, vocabulary: Vocabulary, stateShape: number[]): Promise<string> {
  const session = await InferenceSession.create(model)
  const zeros = () => new Tensor('float32', new Float32Array(stateShape.reduce((a, b) => a * b)), stateShape)
  let state: { initial_h: Tensor; initial_c: Tensor } = { initial_h: zeros(), initial_c: zeros() }
  const next = async (id: number) => {
    const ids = new Tensor('int64', BigInt64Array.of(BigInt(id)), [1, 1])
    const { logits, final_h, final_c } = await session.run({ ids, ...state })
    state = { initial_h: final_h as Tensor, initial_c: final_c as Tensor }
    const scores = logits!.data as Float32Array
    return scores.indexOf(Math.max(...scores))
  }
  let id = 0
  for (const prompt of vocabulary.encode(PROMPT)) id = await next(prompt)
  let text = ''
  for (let written = 0; written < LENGTH; written++) {
    text += vocabulary.decode([id])
    id = await next(id)
  }
  return text
}

it('networkOfRun: a trained model writes the same greedy text on every executor and through ONNX Runtime', async () => {
  const directory = await trainedRun()
  const texts = new Map<string, string>()
  let vocabulary: Vocabulary | undefined
  for (const { name, available } of await inspectBackends()) {
    if (!available) continue
    const backend = await openBackend(name)
    const restored = await restoreModel(directory, backend)
    vocabulary = restored.vocabulary
    let text = ''
    const options = { length: LENGTH, temperature: 0, seed: 1, prompt: PROMPT }
    for await (const character of sample(restored.model, restored.vocabulary, options)) text += character
    texts.set(name, text)
    restored.model.dispose()
    backend.dispose()
  }
  const network = await networkOfRun(directory)
  const { numLayers, numUnits } = network.descriptor
  const model = await exportWeights([network], { format: 'onnx' })
  texts.set('onnxruntime', await writtenByOnnxRuntime(model, vocabulary!, [numLayers, 1, numUnits]))
  expect(texts.size).toBeGreaterThanOrEqual(2)
  expect(new Set(texts.values()).size, [...texts].join('\n')).toBe(1)
})

it('networkOfRun: the network comes back from the checkpoint that the run saved', async () => {
  const directory = await trainedRun()
  const network = await networkOfRun(directory)
  const { networks } = await importWeights(directory)
  const saved = networks.find(({ name }) => name === 'lstm')
  expect(saved?.descriptor).toMatchObject({ numLayers: 2, numUnits: network.descriptor.numUnits })
  expect(saved?.canonical).toEqual(network.canonical)
})
