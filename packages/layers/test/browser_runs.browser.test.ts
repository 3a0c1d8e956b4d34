import { directoryStore } from '@cudnn-rnn/checkpoint'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach, expect, it } from 'vitest'
import { cudnnLSTM, dense, embedding, lastStep, loadModel, sequential } from '../src/index.js'
import { SENTENCES } from './small_data.js'

const FOLDER = 'browser-runs-test'

afterEach(async () => {
  const root = await navigator.storage.getDirectory()
  await root.removeEntry(FOLDER, { recursive: true })
})

it('fit resumes from the private file system of the page, and loadModel reads it', async () => {
  const root = await navigator.storage.getDirectory()
  const checkpoints = directoryStore(await root.getDirectoryHandle(FOLDER, { create: true }))
  using backend = openReferenceBackend()
  const layers = () => [embedding({ size: 5, units: 4 }), cudnnLSTM({ numUnits: 6 }), lastStep(), dense({ units: 2 })]
  const question = SENTENCES.slice(0, 4).map(({ input }) => input)
  const options = { loss: 'softmax_cross_entropy', batchSize: 8, learningRate: 0.05 } as const

  const uninterrupted = sequential(backend, layers(), { seed: 1 })
  await uninterrupted.fit(SENTENCES, { ...options, maxSteps: 7 })
  await sequential(backend, layers(), { seed: 1 }).fit(SENTENCES, { ...options, maxSteps: 3, checkpoints })
  const starts: number[] = []
  const resumed = sequential(backend, layers(), { seed: 1 })
  await resumed.fit(SENTENCES, { ...options, maxSteps: 7, checkpoints, onStart: (step) => void starts.push(step) })
  expect(starts).toEqual([3])
  expect(await resumed.predict(question)).toEqual(await uninterrupted.predict(question))
  expect(await (await loadModel(backend, checkpoints)).predict(question)).toEqual(await resumed.predict(question))
})
