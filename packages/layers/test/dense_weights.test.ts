import { fileURLToPath } from 'node:url'
import { importWeights, openWeightFile } from '@cudnn-rnn/interop'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it, test } from 'vitest'
import { coded } from '../../../scripts/coded.mjs'
import { cudnnGRU, cudnnLSTM, dense, denseWeights, sequential } from '../src/index.js'

const FOLDER = fileURLToPath(new URL('../../../fixtures/interop/', import.meta.url))
const wave = { data: Float32Array.from({ length: 20 }, (_, t) => Math.sin(0.3 * t)), shape: [20, 1, 1] }

// The numbers that the frameworks printed: docs/cookbook/bring_your_model.md.
test.each([
  ['PyTorch', 'sine.pt', 'model.head', -0.28292],
  ['TensorFlow 1', 'sine', 'head', -0.27898],
  ['Flax', 'sine.msgpack', 'params/head', -0.27554],
])('a network and a linear layer of %s are two layers', async (_, name, head, last) => {
  await using file = await openWeightFile(`${FOLDER}guide/${name}`)
  const network = (await importWeights(file)).network()
  using backend = openReferenceBackend({ dtype: 'float64' })
  using model = sequential(backend, [cudnnLSTM({ network }), dense(await denseWeights(file, head))])
  const { data } = await model.predict({ data: Float64Array.from(wave.data), shape: wave.shape })
  expect(data[19]).toBeCloseTo(last, 4)
})

it('refuses a name that no matrix has', async () => {
  await using file = await openWeightFile(`${FOLDER}guide/sine.pt`)
  await expect(denseWeights(file, 'head')).rejects.toThrow(coded('ERR_INVALID_OPTION', { option: 'name' }))
})

test('a layer refuses a network that it does not compute', async () => {
  const network = (await importWeights(`${FOLDER}guide/sine.pt`)).network()
  expect(() => cudnnGRU({ network })).toThrow(coded('ERR_INVALID_OPTION', { option: 'network' }))
  for (const more of [{ reverse: true }, { inputs: { sequenceLengths: [1] } }]) {
    expect(() => cudnnLSTM({ network: { ...network, ...more } })).toThrow(coded('ERR_INVALID_OPTION'))
  }
  expect(() => cudnnLSTM({ network, numUnits: 8 } as never)).toThrow(
    coded('ERR_UNKNOWN_OPTION', { option: 'numUnits' }),
  )
  expect(() => cudnnLSTM({ network: null as never })).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
})
