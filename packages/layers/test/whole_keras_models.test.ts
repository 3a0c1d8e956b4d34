import { importWeights, openWeightFile } from '@cudnn-rnn/interop'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { describeWithModels, modelPath } from '../../interop/test/shared_models.js'
import { importKeras } from '../src/index.js'

describeWithModels('importKeras of whole models', () => {
  it.each([
    ['aircraft_rul_lstm/model.keras', 'in_input_layer', 'out_keras'],
    ['circuit_lstm_keras23/model.h5', 'in', 'out'],
  ])('predicts as Keras does: %s', async (path, input, output) => {
    const model = modelPath(`6_whole_graphs/${path}`)
    await using reference = await openWeightFile(model.replace(/[^/]*$/, 'reference.npz'))
    const { data, shape } = await reference.tensor(input)
    const [B, T, I] = shape as [number, number, number]
    const timeMajor = Float64Array.from(
      data,
      (_, k) => data[((Math.floor(k / I) % B) * T + Math.floor(k / (I * B))) * I + (k % I)]!,
    )
    using backend = openReferenceBackend({ dtype: 'float64' })
    using imported = await importKeras(backend, model)
    const predicted = await imported.predict({ data: timeMajor, shape: [T, B, I] })
    const expected = await reference.tensor(output)
    expect(predicted.shape).toEqual(expected.shape)
    for (const [k, value] of expected.data.entries())
      expect(Math.abs(predicted.data[k]! - value)).toBeLessThan(1e-5 * Math.max(1, Math.abs(value)))
    expect((await importWeights(model)).networks.length).toBeGreaterThan(0)
  })
})
