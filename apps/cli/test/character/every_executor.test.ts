import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import { type BackendName, exportWeights, inspectBackends, openBackend } from '@cudnn-rnn/rnn'
import type { Vocabulary } from '@cudnn-rnn/rnn/train'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { afterAll, expect, it } from 'vitest'
import { networkOfRun } from '../../src/run_networks.js'
import { sample } from '../../src/character/sampler.js'
import { restoreModel } from '../../src/character/training_run.js'
import { smallRun, temporaryDirectory, trainCharacters, writeSmallText } from '../small_run.js'

const PROMPT = 'call'
const LENGTH = 60
/** Enough that a model writes words of its text and no likeliest character is a close call. */
const STEPS = 100

// The cuDNN executor runs on the CUDA emulator if that can be built.
const before = { ...process.env }
const libraries = openCudaEmulator()
if (libraries.problem === undefined) {
  process.env['CUDNN_RNN_LIBRARY_DIR'] = libraries.folder
  process.env['CUDNN_RNN_CACHE_DIR'] = mkdtempSync(join(tmpdir(), 'cudnn-rnn-kernels-'))
}
const executors = (await inspectBackends()).filter(({ available }) => available).map(({ name }) => name)
const missing = ['reference', 'cpu', 'cudnn'].filter((name) => !executors.includes(name))

afterAll(() => {
  process.env = before
})

/** A greedy sample of the run's model on an executor. */
async function greedyText(run: string, executor: string): Promise<string> {
  const backend = await openBackend(executor as BackendName)
  try {
    const { model, vocabulary } = await restoreModel(run, backend)
    let text = ''
    const options = { length: LENGTH, temperature: 0, seed: 1, prompt: PROMPT }
    for await (const character of sample(model, vocabulary, options)) text += character
    model.dispose()
    return text
  } finally {
    backend.dispose()
  }
}

/** The same in ONNX Runtime, from the run's exported model. */
async function greedyTextOfExport(run: string, vocabulary: Vocabulary): Promise<string> {
  const network = await networkOfRun(run)
  const session = await InferenceSession.create(await exportWeights([network], { format: 'onnx' }))
  const { numLayers, numUnits } = network.descriptor
  const zeros = () => new Tensor('float32', new Float32Array(numLayers * numUnits), [numLayers, 1, numUnits])
  let [initial_h, initial_c] = [zeros(), zeros()]
  const following = async (character: string) => {
    const ids = new Tensor('int64', BigInt64Array.from(vocabulary.encode(character), BigInt), [1, 1])
    const { logits, final_h, final_c } = await session.run({ ids, initial_h, initial_c })
    ;[initial_h, initial_c] = [final_h as typeof initial_h, final_c as typeof initial_c]
    const data = logits.data as Float32Array
    return vocabulary.decode([data.indexOf(Math.max(...data))])
  }
  let latest = ''
  for (const character of PROMPT) latest = await following(character)
  let text = ''
  while (text.length < LENGTH) {
    text += latest
    latest = await following(latest)
  }
  await session.release()
  return text
}

it.each(executors)(
  'a character model trained and saved on %s writes one greedy text on every executor and in ONNX Runtime',
  async (trainer) => {
    const run = await temporaryDirectory()
    const { plan, ...rest } = smallRun(await writeSmallText(run), { steps: STEPS, numLayers: 2 })
    const settings = { ...rest, plan: { ...plan, evaluateEvery: STEPS } }
    const { run: trained } = await trainCharacters(run, trainer, settings)
    const { vocabulary } = trained.corpus
    trained.dispose()

    const texts: Record<string, string> = { 'ONNX Runtime': await greedyTextOfExport(run, vocabulary) }
    for (const executor of executors) texts[executor] = await greedyText(run, executor)
    const text = texts[trainer]
    expect(new Set(text).size).toBeGreaterThan(4)
    expect(texts).toEqual(Object.fromEntries(['ONNX Runtime', ...executors].map((name) => [name, text])))
  },
)

it.skip.each(missing)('a character model trained and saved on %s (skipped: it cannot work here)', () => undefined)
