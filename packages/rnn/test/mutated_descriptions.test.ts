import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCheckpoint, writeCheckpoint } from '@cudnn-rnn/checkpoint'
import { NGramModel } from '@cudnn-rnn/train/ctc'
import { mutatedJson, Random } from '@cudnn-rnn/fuzzing'
import { exportWeights, importWeights, openWeightFile } from '@cudnn-rnn/interop'
import {
  concat,
  conv1d,
  cudnnGRU,
  cudnnLSTM,
  dense,
  dropout,
  embedding,
  importKeras,
  lastStep,
  loadModel,
  sequential,
} from '@cudnn-rnn/layers'
import { CudnnLSTM } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { createTextClassifier, loadForecaster, loadTextClassifier, trainForecaster } from '@cudnn-rnn/layers/tasks'
import { Dataset, readMetrics } from '@cudnn-rnn/train'
import { afterAll, expect, it } from 'vitest'
import { measured } from '../../../scripts/testing/measured_figures.mjs'
import { hasErrorCode } from '../src/index.js'
import { Pack } from './oracle_pack.js'

const MUTATIONS = Number(
  process.env['CUDNN_RNN_FUZZ_MUTATIONS'] ?? (process.env['CUDNN_RNN_TESTS'] === 'all' ? 200 : 20),
)
const SEED = Number(process.env['CUDNN_RNN_FUZZ_SEED'] ?? 1)

const backend = openReferenceBackend()
const folder = await mkdtemp(join(tmpdir(), 'cudnn-rnn-mutated-'))
afterAll(() => rm(folder, { recursive: true }))

/** A JSON description that one of our readers reads, and that reader. */
interface Description {
  readonly value: unknown
  read(value: unknown): Promise<unknown> | unknown
}

/** Whole models of Keras: their descriptions in a model.json, beside their tensors. */
async function kerasDescriptions(): Promise<Description[]> {
  const pack = new Pack('drawn_keras')
  const found: Description[] = []
  for (const oracle of pack.cases) {
    if (typeof oracle.file.at !== 'number') continue
    const file = await openWeightFile(pack.file(oracle))
    const weights: object[] = []
    const parts: Uint8Array[] = []
    for (const { name, shape, read } of file.tensors) {
      weights.push({ name, shape, dtype: 'float32' })
      parts.push(new Uint8Array(Float32Array.from(await read()).buffer))
    }
    await file.close()
    const shard = `${found.length}.bin`
    await writeFile(join(folder, shard), Buffer.concat(parts))
    const value = {
      modelTopology: { keras_version: file.kerasVersion, model_config: file.kerasModel },
      weightsManifest: [{ paths: [shard], weights }],
    }
    const read = async (mutated: unknown) => {
      const path = join(folder, 'model.json')
      await writeFile(path, JSON.stringify(mutated))
      await importWeights(path).catch(checkIsCoded)
      ;(await importKeras(backend, path)).dispose()
    }
    found.push({ value, read })
  }
  return found
}

/** The JSON in a tensor of a checkpoint, which is read in a separate directory. */
async function recordIn(
  prefix: string,
  key: string,
  read: (prefix: string, directory: string) => Promise<unknown>,
): Promise<Description> {
  const directory = join(folder, key)
  const reader = await openCheckpoint(prefix)
  const tensors = new Map<string, Awaited<ReturnType<typeof reader.read>>>()
  for (const name of reader.names()) tensors.set(name, await reader.read(name))
  await reader.close()
  const value: unknown = JSON.parse(new TextDecoder().decode(tensors.get(key)!.data as Uint8Array))
  tensors.delete(key)
  return {
    value,
    async read(value) {
      const bytes = new TextEncoder().encode(JSON.stringify(value))
      await rm(directory, { recursive: true, force: true })
      await mkdir(directory)
      await writeCheckpoint(join(directory, 'model-3'), [...tensors, [key, { data: bytes, shape: [bytes.length] }]])
      return read(join(directory, 'model-3'), directory)
    },
  }
}

async function savedModel(): Promise<Description> {
  const branch = [conv1d({ filters: 4, kernelSize: 3, padding: 'same' })]
  const layers = [
    embedding({ size: 6, units: 4 }),
    concat([branch, [cudnnGRU({ numUnits: 3 })]]),
    cudnnLSTM({ numUnits: 3, numLayers: 2, direction: 'bidirectional' }),
    lastStep(),
    dense({ units: 2, activation: 'softmax' }),
  ]
  await sequential(backend, layers, { seed: 1 }).save(join(folder, 'model'))
  return recordIn(join(folder, 'model'), 'model_config', async (prefix) => (await loadModel(backend, prefix)).dispose())
}

async function classifier(): Promise<Description> {
  const texts = ['good day', 'bad night', 'good night', 'bad day'].map((text) => ({ text, label: text.slice(0, 3) }))
  const trained = createTextClassifier(backend, texts, { numUnits: 2, embeddingSize: 2 })
  await trained.save(join(folder, 'classifier'))
  return recordIn(join(folder, 'classifier'), 'text_classifier', async (prefix) => {
    await (await loadTextClassifier(backend, prefix)).classify(['good'])
  })
}

async function forecaster(): Promise<Description> {
  const values = Array.from({ length: 80 }, (_, day) => 100 + Math.sin(day))
  const trained = await trainForecaster(backend, [{ values }], { season: 4, horizon: 2, numUnits: 2, maxSteps: 2 })
  await trained.save(join(folder, 'forecaster'))
  return recordIn(join(folder, 'forecaster'), 'forecaster', async (prefix) => {
    await (await loadForecaster(backend, prefix)).forecast({ values })
  })
}

/** The record of a training, with the position in its data. */
async function trainingRecord(): Promise<Description> {
  const examples = Array.from({ length: 12 }, (_, k) => ({
    input: { data: Float32Array.of(k, 1), shape: [2] },
    label: k % 2,
  }))
  const run = async (directory: string, maxSteps: number) => {
    using model = sequential(backend, [dense({ units: 2 }), dropout({ rate: 0.5 })], {
      inputSize: 2,
      isSequence: false,
    })
    const data = Dataset.fromArray(examples).shuffle({ bufferSize: 4, seed: 1 }).repeat()
    await model.fit(data, { loss: 'softmax_cross_entropy', batchSize: 3, maxSteps, checkpoints: directory })
  }
  await run(join(folder, 'run'), 3)
  return recordIn(join(folder, 'run/model-3'), 'training_record', (_, directory) => run(directory, 5))
}

/** The index of a model whose tensors are in two files. */
async function shardIndex(): Promise<Description> {
  const directory = join(folder, 'shards')
  await mkdir(directory)
  const map: Record<string, string> = {}
  for (const name of ['encoder', 'decoder']) {
    const model = new CudnnLSTM(backend, { numLayers: 1, numUnits: 3, inputSize: 2 })
    const canonical = await model.paramsToCanonical(model.createParams({ seed: 1 }))
    const network = { name, descriptor: model.descriptor, canonical }
    const bytes = await exportWeights([network], { format: 'safetensors' })
    await writeFile(join(directory, `${name}.safetensors`), bytes)
    const { networks } = await importWeights(bytes)
    for (const tensor of networks[0]!.tensorNames) map[tensor] = `${name}.safetensors`
  }
  const path = join(directory, 'model.safetensors.index.json')
  return {
    value: { metadata: { total_size: 1 }, weight_map: map },
    async read(mutated) {
      await writeFile(path, JSON.stringify(mutated))
      return importWeights(path)
    },
  }
}

/** A line of the log of a training. */
function metrics(): Description {
  const path = join(folder, 'metrics.jsonl')
  const value = {
    step: 1,
    loss: 0.5,
    learningRate: 0.001,
    gradientNorm: 2,
    skipped: false,
    seconds: 0.01,
    metrics: { a: 1 },
  }
  return {
    value,
    async read(mutated) {
      await writeFile(path, `${JSON.stringify(mutated)}\n`)
      return readMetrics(path)
    },
  }
}

const DESCRIPTIONS = new Map<string, () => Promise<Description[]> | Description[]>([
  ['Keras and TensorFlow.js models', kerasDescriptions],
  ['a saved model', async () => [await savedModel()]],
  ['a saved text classifier', async () => [await classifier()]],
  ['a saved forecaster', async () => [await forecaster()]],
  ['the record of a training', async () => [await trainingRecord()]],
  ['the log of a training', () => [metrics()]],
  ['the index of shards', async () => [await shardIndex()]],
  [
    'an n-gram model',
    () => {
      const value = NGramModel.train([[...'banana'], [...'bandana']], { order: 3 }).toJSON()
      const read = (mutated: unknown) => NGramModel.fromJSON(mutated as never).logProbability(['a', 'n'], 'b')
      return [{ value, read }]
    },
  ],
])

function checkIsCoded(error: unknown): void {
  if (!hasErrorCode(error) || !/^ERR_[A-Z0-9_]+$/.test(error.code)) throw error
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for these.
  if (/[\u0000-\u001f]/.test(error.message)) throw new Error(`control characters: ${JSON.stringify(error.message)}`)
  if (error.message.length > 2100) throw new Error(`${error.message.length} characters: ${error.message.slice(0, 200)}`)
}

it.each([...DESCRIPTIONS])('reads or refuses with a code: %s', { timeout: 300_000 }, async (name, describe) => {
  const prototype = Object.keys(Object.getOwnPropertyDescriptors(Object.prototype)).join()
  const descriptions: Description[] = []
  for (const each of await describe()) {
    const isRead = await Promise.resolve(each.read(each.value)).then(() => true, checkIsCoded)
    if (isRead) descriptions.push(each)
  }
  expect(descriptions.length).toBeGreaterThan(0)
  const counts = { read: 0, refused: 0 }
  const failures: string[] = []
  for (const [index, { value, read }] of descriptions.entries()) {
    for (let mutation = 0; mutation < MUTATIONS / descriptions.length; mutation++) {
      const mutated = mutatedJson(value, new Random(SEED, index * MUTATIONS + mutation))
      try {
        await read(mutated)
        counts.read++
      } catch (error) {
        counts.refused++
        try {
          checkIsCoded(error)
        } catch (wrong) {
          failures.push(`${mutation}: ${(wrong as Error).stack?.split('\n').slice(0, 4).join('\n')}`)
        }
      }
    }
  }
  measured({
    [`mutated descriptions that are read: ${name}`]: counts.read,
    [`mutated descriptions that are refused with a code: ${name}`]: counts.refused - failures.length,
  })
  expect(Object.keys(Object.getOwnPropertyDescriptors(Object.prototype)).join()).toBe(prototype)
  expect(failures).toEqual([])
})
