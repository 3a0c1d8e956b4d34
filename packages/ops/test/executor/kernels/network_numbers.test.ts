import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { expect, it } from 'vitest'
import { networkNumbers } from '../../../src/executor/index.js'

const sizes = { numLayers: 3, numUnits: 5, inputSize: 4 } as const
const numbersOf = (options: Partial<Parameters<typeof createRnnDescriptor>[0]>) => [
  ...networkNumbers(createRnnDescriptor({ cellMode: 'lstm', ...sizes, ...options })),
]

it('networkNumbers are the cell, sizes and options of a network', () => {
  expect(numbersOf({})).toEqual([0, 3, 1, 5, 4, 0, 0, 1, 1, Number.POSITIVE_INFINITY, 0, 0])
  const options = { direction: 'bidirectional', numProj: 2, cellClip: 1.5, dropout: 0.5, seed: 9 } as const
  expect(numbersOf(options)).toEqual([0, 3, 2, 5, 4, 2, 0, 1, 1, 1.5, 0.5, 9])
})

it.each([
  ['lstm', 0],
  ['gru', 1],
  ['rnn_relu', 2],
  ['rnn_tanh', 3],
] as const)('networkNumbers have %s as number %i', (cellMode, number) => {
  expect(numbersOf({ cellMode })[0]).toBe(number)
})

it.each([
  ['double', [1, 1]],
  ['single_input', [1, 0]],
  ['single_recurrent', [0, 1]],
  ['none', [0, 0]],
] as const)('networkNumbers state the biases of %s', (biasMode, expected) => {
  expect(numbersOf({ biasMode }).slice(7, 9)).toEqual(expected)
})

it('networkNumbers state whether the input is skipped', () => {
  expect(numbersOf({ inputMode: 'skip_input', inputSize: 5 })[6]).toBe(1)
})
