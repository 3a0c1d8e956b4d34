import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { cudnnGRU, dense, lossOf, sequential, signalText } from '../src/index.js'

it('every function refuses arguments of another kind with a code', () => {
  using backend = openReferenceBackend()
  expect(() => signalText(undefined as never)).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
  const row = { data: new Float32Array(2), shape: [1, 2] }
  using output = backend.tensor(row)
  const lossBy = (given: unknown, name: unknown) => lossOf(given as never, name as never, output, row, undefined)
  expect(() => lossBy(undefined, 'mean_squared_error')).toThrow(coded('ERR_NOT_A_BACKEND'))
  expect(() => lossBy(backend, Object.create(null))).toThrow(coded('ERR_INVALID_OPTION'))
  expect(() => sequential(backend, [dense({ units: 2 })], { inputSize: { name: 'walk' } as never })).toThrow(
    /current value is an object with the fields name/,
  )
})

it('methods of a model refuse arguments of another kind with a code', async () => {
  using backend = openReferenceBackend()
  using model = sequential(backend, [cudnnGRU({ numUnits: 2, inputSize: 3, dropout: 0.5, numLayers: 2 })])
  for (const path of [undefined, 3, ['a']])
    await expect(model.save(path as never)).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
  await expect(model.save('a\0b')).rejects.toThrow(coded('ERR_INVALID_OPTION'))
  // A file in place of a folder.
  const below = join(fileURLToPath(import.meta.url), 'folder', 'model')
  await expect(model.save(below)).rejects.toThrow(coded('ERR_CHECKPOINT_IO', { path: below }))
  for (const format of [{}, Object.create(null)])
    await expect(model.export(format as never)).rejects.toThrow(/current value is an object without fields/)
  expect(() => model.batchInputs(undefined as never)).toThrow(coded('ERR_EXAMPLE'))
  const row = { data: new Float32Array(3), shape: new Date(0) as never }
  expect(() => model.batchInputs([row])).toThrow(coded('ERR_EXAMPLE'))
  const elements = [new BigInt64Array(3), new DataView(new ArrayBuffer(12)), [1n, 2n, 3n], ['a', 'b', 'c']]
  for (const data of elements)
    expect(() => model.batchInputs([{ data, shape: [1, 3] } as never])).toThrow(coded('ERR_EXAMPLE'))
  const sizes = { data: new Float32Array(3), shape: [1, {}] }
  expect(() => model.batchInputs([sizes as never])).toThrow(/current value is an object/)
  const [layer] = model.layers
  expect(() => layer.restoreRandomState('a\0b')).toThrow(coded('ERR_DROPOUT_STATE'))
})
