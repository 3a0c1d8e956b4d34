import { expect, it } from 'vitest'
import { uniqueKerasName } from '../../src/rules/index.js'

it('uniqueKerasName counts the objects of a class', () => {
  const counts = new Map<string, number>()
  const names = ['LSTM', 'SimpleRNN', 'SimpleRNN', 'mine>Conv1D', 'CuDNNGRU'].map((name) =>
    uniqueKerasName(counts, name),
  )
  expect(names).toEqual(['lstm', 'simple_rnn', 'simple_rnn_1', 'mine_conv1d', 'cu_dnngru'])
})
