import type { ImportedNetwork } from '@cudnn-rnn/rnn'
import { createRnnDescriptor } from '@cudnn-rnn/rnn/canonical'
import type { WeightFile } from '@cudnn-rnn/rnn/interop'
import { expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { lstmsOf, weightReader } from '../src/named_weights.js'

const file: WeightFile = {
  format: 'safetensors',
  path: 'model.safetensors',
  tensors: [{ name: 'kernel', shape: [2, 3], dtype: 'F64', read: async () => Float64Array.of(1, 2, 3, 4, 5, 6) }],
  close: async () => undefined,
}

it('weightReader gives a tensor of the requested shape as float32', async () => {
  expect(await weightReader(file)('kernel', [2, 3])).toEqual({ data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [2, 3] })
})

it.each([
  ['bias', [3], 'absent'],
  ['kernel', [3, 2], '[2,3]'],
  ['kernel', [6], '[2,3]'],
] as const)('weightReader refuses %s as [%s], as it is %s', async (name, shape, found) => {
  await expect(weightReader(file)(name, shape)).rejects.toMatchObject({
    code: 'ERR_OTHER_MODEL',
    path: 'model.safetensors',
    message: expect.stringContaining(`current value is ${found}`),
  })
})

function network(options: Partial<Parameters<typeof createRnnDescriptor>[0]>): ImportedNetwork {
  const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 4, inputSize: 3, ...options })
  const canonical = { weights: [], biases: [] }
  return {
    name: 'a',
    convention: 'keras',
    descriptor,
    canonical,
    reverse: false,
    inputs: {},
    tensorNames: [],
    notes: [],
  }
}

it('lstmsOf passes networks of the requested sizes', () => {
  const networks = [network({}), network({ inputSize: 4 })]
  const sizes = [
    [3, 4],
    [4, 4],
  ] as const
  expect(lstmsOf('m', networks, sizes)).toBe(networks)
})

it.each([
  ['other units', [network({ numUnits: 5 })]],
  ['another cell', [network({ cellMode: 'gru' })]],
  ['two directions', [network({ direction: 'bidirectional' })]],
  ['two layers', [network({ numLayers: 2 })]],
  ['a projection', [network({ numProj: 2 })]],
  ['one too many', [network({}), network({})]],
  ['none', []],
])('lstmsOf refuses %s', (_, networks) => {
  expect(() => lstmsOf('m', networks, [[3, 4]])).toThrow(
    coded('ERR_OTHER_MODEL', { message: expect.stringContaining('must be lstm 3 → 4') }),
  )
})
