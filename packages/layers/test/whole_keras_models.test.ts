import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { importWeights, openWeightFile } from '@cudnn-rnn/interop'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { importKeras } from '../src/index.js'

/** Trained models of other projects, in a folder beside the repository if present; they are not part of it. */
const FOLDER = fileURLToPath(new URL('../../../../shared/models/6_whole_graphs/', import.meta.url))

describe.skipIf(!existsSync(FOLDER))('importKeras of whole models', () => {
  it.each([
    ['aircraft_rul_lstm/model.keras', 'in_input_layer', 'out_keras'],
    ['circuit_lstm_keras23/model.h5', 'in', 'out'],
  ])('predicts as Keras does: %s', async (path, input, output) => {
    const model = join(FOLDER, path)
    await using reference = await openWeightFile(join(model, '../reference.npz'))
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
