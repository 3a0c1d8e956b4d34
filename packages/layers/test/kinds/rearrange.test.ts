import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { importKeras, sequential } from '../../src/index.js'
import { rearrange } from '../../src/kinds/rearrange.js'

/** [T,B,E] of T·E numbers of each row, from b·100 on. */
const sequences = (steps: number, batch: number, columns: number) => {
  const data = new Float32Array(steps * batch * columns)
  const numberAt = (t: number, b: number, e: number) => 100 * b + t * columns + e
  for (const k of data.keys()) {
    data[k] = numberAt(Math.floor(k / (batch * columns)), Math.floor(k / columns) % batch, k % columns)
  }
  return { data, shape: [steps, batch, columns] }
}

it('rearrange gives sequences of any number of steps other columns, also behind an export', async () => {
  using backend = openReferenceBackend()
  using model = sequential(backend, [rearrange({ from: [0, 6], to: [0, 4] })], { inputSize: 6 })
  using again = await importKeras(backend, await model.export('keras'))
  for (const steps of [2, 4]) {
    const expected = sequences((steps * 6) / 4, 2, 4)
    expect(await model.predict(sequences(steps, 2, 6))).toEqual(expected)
    expect(await again.predict(sequences(steps, 2, 6))).toEqual(expected)
  }
  await expect(model.predict(sequences(3, 2, 6))).rejects.toThrow(coded('ERR_SEQUENCE_LENGTHS'))
  const lengths = { sequenceLengths: Int32Array.of(4, 3) }
  await expect(model.predict(sequences(4, 2, 6), lengths)).rejects.toThrow(coded('ERR_SEQUENCE_LENGTHS'))
  // The steps of an ONNX file would be those that its layers were recorded with.
  await expect(model.export('onnx')).rejects.toThrow(coded('ERR_NO_EXPORT'))
})

it('rearrange of fewer columns is exported to ONNX, of any number of steps', async () => {
  using backend = openReferenceBackend()
  using model = sequential(backend, [rearrange({ from: [0, 6], to: [0, 3] })], { inputSize: 6 })
  expect(() => rearrange({ from: [0], to: [0] })).toThrow(coded('ERR_INVALID_OPTION'))
  expect((await model.export('onnx')).length).toBeGreaterThan(0)
})
