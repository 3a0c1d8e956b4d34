import { type FileStore, MemoryStore } from '@cudnn-rnn/checkpoint'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { Adam, type Trainable } from '@cudnn-rnn/train'
import { expect, it } from 'vitest'
import { cudnnGRU, dense, embedding, lastStep, loadModel, sequential, TrainingCheckpoints } from '../src/index.js'
import { SENTENCES } from './small_data.js'

const layers = () => [embedding({ size: 5, units: 4 }), cudnnGRU({ numUnits: 6 }), lastStep(), dense({ units: 2 })]
const OPTIONS = { loss: 'softmax_cross_entropy', batchSize: 8, learningRate: 0.05, saveEvery: 2 } as const
const QUESTION = SENTENCES.slice(0, 4).map(({ input }) => input)

async function trained(steps: readonly number[], checkpoints?: FileStore) {
  using backend = openReferenceBackend()
  let output: unknown
  for (const maxSteps of steps) {
    const model = sequential(backend, layers(), { seed: 1 })
    await model.fit(SENTENCES, {
      ...OPTIONS,
      maxSteps,
      checkpoints,
      validation: SENTENCES,
      earlyStopping: { patience: 9 },
    })
    output = await model.predict(QUESTION)
  }
  return output
}

it('fit continues a run in a store with the numbers of one that was never interrupted', async () => {
  const store = new MemoryStore()
  expect(await trained([3, 7], store)).toEqual(await trained([7]))
  expect([...store.files.keys()].sort()).toEqual([
    'checkpoint',
    'model-6.data-00000-of-00001',
    'model-6.index',
    'model-7.data-00000-of-00001',
    'model-7.index',
  ])
  expect(store.folder('best').files.size).toBeGreaterThan(0)
})

it('fit passes over a damaged checkpoint of a store and names it', async () => {
  const store = new MemoryStore()
  await trained([4], store)
  store.files.set('model-4.index', store.files.get('model-4.index')!.slice(0, 20))
  for (const name of [...store.folder('best').files.keys()]) await store.folder('best').remove(name)
  using backend = openReferenceBackend()
  const model = sequential(backend, layers(), { seed: 1 })
  const skipped: unknown[] = []
  await model.fit(SENTENCES, {
    ...OPTIONS,
    maxSteps: 4,
    checkpoints: store,
    onStart: (_, resumed) => void skipped.push(resumed?.skipped?.map(({ path }) => path)),
  })
  expect(skipped).toEqual([['(memory)/model-4']])
})

it('fit refuses to continue a run with other settings, names both values and changes nothing', async () => {
  const store = new MemoryStore()
  await trained([2], store)
  const files = new Map(store.files)
  using backend = openReferenceBackend()
  const attempt = async (changed: object, { list = layers(), seed = 1, data = SENTENCES } = {}) => {
    const model = sequential(backend, list, { seed })
    const before = await model.predict(QUESTION)
    const options = {
      ...OPTIONS,
      maxSteps: 4,
      checkpoints: store,
      validation: SENTENCES,
      earlyStopping: {},
      ...changed,
    }
    await expect(model.fit(data, options)).rejects.toMatchObject({
      code: 'ERR_RESUME_OPTION',
      message: expect.stringMatching(/Cannot continue the training with .+ as its checkpoint has .+: leave it/),
    })
    expect(await model.predict(QUESTION)).toEqual(before)
    expect(store.files).toEqual(files)
  }
  await attempt({ loss: () => Promise.reject(new Error('not called')) })
  await attempt({ optimizer: 'sgd' })
  await attempt({ optimizer: (variables: readonly Trainable[]) => new Adam(variables, { beta1: 0.5 }) })
  await attempt({ batchSize: 4 })
  await attempt({ shuffle: false })
  await attempt({ accumulate: 2 })
  await attempt({ earlyStopping: { metric: 'accuracy' } })
  await attempt({ earlyStopping: { mode: 'max' } })
  await attempt({ validation: SENTENCES.slice(1) })
  await attempt({}, { seed: 2 })
  await attempt({}, { data: SENTENCES.toReversed() })
  await attempt({}, { list: [...layers().slice(0, 3), dense({ units: 2, activation: 'tanh' })] })
})

it('a second training in a store is refused until the first has ended', async () => {
  const store = new MemoryStore()
  using backend = openReferenceBackend()
  const [first, second] = [new TrainingCheckpoints(backend, store), new TrainingCheckpoints(backend, store)]
  const lock = await first.lock()
  await expect(second.lock()).rejects.toMatchObject({ code: 'ERR_RUN_LOCKED', directory: '(memory)' })
  await lock[Symbol.asyncDispose]()
  await (await second.lock())[Symbol.asyncDispose]()
})

it('loadModel reads what save and fit wrote into a store', async () => {
  const store = new MemoryStore()
  using backend = openReferenceBackend()
  const model = sequential(backend, layers(), { seed: 3 })
  const expected = await model.predict(QUESTION)
  await model.save('final', { store })
  expect(await (await loadModel(backend, 'final', { store })).predict(QUESTION)).toEqual(expected)
  await expect(loadModel(backend, 'other', { store })).rejects.toMatchObject({ code: 'ERR_CHECKPOINT_NOT_FOUND' })

  const run = new MemoryStore()
  await expect(loadModel(backend, run)).rejects.toMatchObject({ code: 'ERR_CHECKPOINT_NOT_FOUND' })
  await model.fit(SENTENCES, { ...OPTIONS, maxSteps: 2, checkpoints: run })
  expect(await (await loadModel(backend, run)).predict(QUESTION)).toEqual(await model.predict(QUESTION))
})
