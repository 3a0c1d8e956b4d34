import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, test } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { embedding, sequential } from '../../src/index.js'

test('an embedding of columns looks up each number of a step, and is a layer of so many', async () => {
  using backend = openReferenceBackend({ dtype: 'float64' })
  const table = { data: Float64Array.of(1, 2, 3, 4, 5, 6), shape: [3, 2] }
  const own = { size: 3, units: 2, columns: 2, initializer: table }
  using model = sequential(backend, [embedding(own)])
  const { data, shape } = await model.predict({ data: Float64Array.of(2, 0, 1, 1), shape: [2, 1, 2] })
  expect(shape).toEqual([2, 1, 4])
  expect([...data]).toEqual([5, 6, 1, 2, 3, 4, 3, 4])
  await expect(model.predict({ data: Float64Array.of(3, 0), shape: [1, 1, 2] })).rejects.toThrow(
    coded('ERR_ID_OUT_OF_RANGE'),
  )
  expect(() => sequential(backend, [embedding(own)], { inputSize: 3 })).toThrow(coded('ERR_LAYERS_DO_NOT_FIT'))
  expect(() => embedding({ ...own, maskZero: 'end' })).toThrow(coded('ERR_INVALID_OPTION'))
})
