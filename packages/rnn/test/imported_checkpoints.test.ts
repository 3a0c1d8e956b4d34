import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { importWeights } from '@cudnn-rnn/interop'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, test } from 'vitest'
import { modelFromNetwork } from '../src/index.js'

interface Numbers {
  readonly shape: readonly number[]
  readonly data: readonly number[]
}

// Made by fixtures/interop/make_tensorflow.py.
const folder = fileURLToPath(new URL('../../../fixtures/interop/tensorflow/', import.meta.url))
const { cases } = JSON.parse(readFileSync(`${folder}expected.json`, 'utf8')) as {
  readonly cases: Readonly<Record<string, { readonly input: Numbers; readonly output: Numbers }>>
}

/** The network of each checkpoint whose output was recorded, and the others that are to be found beside it. */
const NETWORKS: Readonly<Record<string, readonly [name: string, ...others: string[]]>> = {
  basic_lstm: ['rnn/multi_rnn_cell'],
  lstm_cell_old_names: ['rnn/lstm_cell'],
  bidirectional: ['bidirectional_rnn'],
  peepholes: ['rnn/lstm_cell'],
  cudnn_compatible: ['encoder/rnn/multi_rnn_cell'],
  gru_cell: ['rnn/gru_cell'],
  bidirectional_scope: ['bi-lstm'],
  backward_alone: ['bi/bw/lstm_cell', 'bi/fw/gru_cell'],
  attention_stack: [
    'decoder/multi_rnn_cell/cell_1/basic_lstm_cell',
    'decoder/multi_rnn_cell/cell_0_attention/attention/basic_lstm_cell',
  ],
  peepholes_projection: ['rnn/lstm_cell'],
  objects: ['model/_functional/_operations/1'],
  saved_model: ['sequential'],
}

test('every recorded checkpoint is listed', () => expect(Object.keys(NETWORKS)).toEqual(Object.keys(cases)))

test.each(Object.entries(NETWORKS))('run of the network in %s gives the recorded output', async (file, names) => {
  const { networks, cells } = await importWeights(`${folder}${file}`)
  const found = [...networks, ...cells]
  expect(found.map(({ name }) => name).sort()).toEqual([...names].sort())
  using backend = openReferenceBackend({ dtype: 'float64' })
  const { input, output } = cases[file]!
  const network = found.find(({ name }) => name === names[0])!
  const x = { data: Float64Array.from(input.data), shape: input.shape }
  const { data, shape } = (await modelFromNetwork(backend, network).run(x)).output
  expect([...shape]).toEqual(output.shape)
  expect(Math.max(...output.data.map((value, index) => Math.abs(value - data[index]!)))).toBeLessThan(1e-6)
})
