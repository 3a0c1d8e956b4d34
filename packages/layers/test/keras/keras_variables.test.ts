import type { WeightFile } from '@cudnn-rnn/interop'
import { expect, test } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { KerasVariables } from '../../src/keras/keras_variables.js'

const fileOf = (...names: readonly string[]) =>
  ({ tensors: names.map((name) => ({ name, shape: [2] })) }) as unknown as WeightFile

test('variables are found by their place and number, or below the name of their layer', () => {
  const variables = new KerasVariables(fileOf('layers/dense/vars/0', 'model_weights/a/b/kernel:0', 'c/query/bias:0'))
  const nameOf = (...wanted: readonly [string, string, string]) => variables.find(...wanted, 0)?.name
  expect(nameOf('layers/dense', 'x', 'kernel')).toBe('layers/dense/vars/0')
  expect(nameOf('layers/dense_1', 'a/b', 'kernel')).toBe('model_weights/a/b/kernel:0')
  expect(nameOf('layers/dense_1', 'c', 'query/bias')).toBe('c/query/bias:0')
  expect(nameOf('layers/dense_1', 'x', 'kernel')).toBeUndefined()
})

test('a variable belongs to one layer, which may be called again', () => {
  const variables = new KerasVariables(fileOf('a/kernel:0'))
  const take = (place: string) => variables.take(place, place, 'a', [['kernel', [2]]])
  expect(take('layers/dense')).toEqual(take('layers/dense'))
  expect(() => take('layers/dense_1')).toThrow(coded('ERR_UNKNOWN_LAYER'))
})

test.each(['layers/dense/vars/', 'dense/dense/'])('a variable beside those of a layer at %s is refused', (folder) => {
  const variables = new KerasVariables(fileOf(`${folder}0`, `${folder}1`, `${folder}kernel`, `${folder}bias`))
  const take = (own: string) => variables.take('dense', 'layers/dense', 'dense/dense', [[own, [2]]])
  take('kernel')
  expect(() => variables.checkAllTaken()).toThrow(coded('ERR_UNKNOWN_LAYER'))
})

test('a name of a million parts takes memory of its length alone', () => {
  const name = `${'a/'.repeat(1e6)}kernel`
  expect(new KerasVariables(fileOf(name)).find('', 'a/a', 'kernel', 0)?.name).toBe(name)
})
