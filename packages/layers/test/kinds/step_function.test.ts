import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { importKeras, sequential } from '../../src/index.js'
import { stepFunction } from '../../src/kinds/step_function.js'

/** A vector of the length 5e-8, between the bounds of Keras 2 and 3. */
const short = { data: Float32Array.of(3e-8, 4e-8), shape: [1, 2] }

it('stepFunction unit divides a vector by its length, however short', async () => {
  using backend = openReferenceBackend()
  using model = sequential(backend, [stepFunction({ function: 'unit' })], { inputSize: 2, isSequence: false })
  const { data } = await model.predict(short)
  expect(data[0]).toBeCloseTo(0.6, 6)
  expect(data[1]).toBeCloseTo(0.8, 6)
})

it('stepFunction unit of a file of Keras 2 divides by 1e-6 at least, which files of Keras 3 cannot say', async () => {
  const input = { class_name: 'InputLayer', config: { name: 'x', batch_input_shape: [null, 2] } }
  const layers = [input, { class_name: 'UnitNormalization', config: { name: 'unit', axis: [-1] } }]
  const topology = { keras_version: '2.8.0', model_config: { class_name: 'Sequential', config: { layers } } }
  const file = JSON.stringify({ format: 'layers-model', modelTopology: topology, weightsManifest: [] })
  using backend = openReferenceBackend()
  using model = await importKeras(backend, new TextEncoder().encode(file))
  const { data } = await model.predict(short)
  expect(data[0]).toBeCloseTo(0.03, 6)
  await expect(model.export('keras')).rejects.toThrow(coded('ERR_NO_EXPORT'))
})
