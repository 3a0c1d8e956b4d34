import { CudnnLSTM } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach, expect, it } from 'vitest'
import { cudnnLSTM, dense, sequential } from '../src/index.js'

const backend = openReferenceBackend()
const x = { data: Float32Array.of(1, 2), shape: [1, 1, 2] }
const frame = Float32Array.of(1, 2)
const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 1, inputSize: 2 })
const params = lstm.createParams({ seed: 1 })
const model = sequential(backend, [cudnnLSTM({ numUnits: 1, inputSize: 2 }), dense({ units: 1 })])
const streams = { network: lstm.stream(params), model: model.stream() }

let timer: ReturnType<typeof setTimeout> | undefined
afterEach(() => clearTimeout(timer))

it.each<[string, () => Promise<unknown>]>([
  ['predict', () => model.predict([{ data: frame, shape: [1, 2] }])],
  ['run of a network', () => lstm.run(params, x)],
  ['call of a network', () => lstm.call(x, null, null, params, { isTraining: false })],
  ['step of a network', () => streams.network.step(frame)],
  ['stepRows of a network', () => streams.network.stepRows([0], frame)],
  ['step of a model', () => streams.model.step(frame)],
])('a loop over awaited calls of %s lets timers in', async (_, call) => {
  let isLate = false
  timer = setTimeout(() => {
    isLate = true
  }, 1)
  const end = performance.now() + 5000
  while (!isLate && performance.now() < end) await call()
  expect(isLate).toBe(true)
})
